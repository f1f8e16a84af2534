// What a client remembers and does, as chapter 9 of the standard has it. For clients whose ids are opaque: it recognises
// no event that it has applied before, which only replay demands (MOD-3).

/** @typedef {{number: number, kind: "call" | "listen", connection: number, cursor: string | null, attempts: number,
 *   retry: number, ready: number}} Stream */

export class Client {
  /** @type {string | null} */ session = null;
  initializing = 0;
  opened = 0;
  /** @type {Stream[]} */ streams = [];
  told = [];

  constructor(attemptsLimit, longestWait) {
    Object.assign(this, { attemptsLimit, longestWait });
  }

  get mustInitialize() {
    return this.session === null && this.initializing === 0;
  }

  get lost() {
    return this.streams.filter((stream) => stream.connection === 0);
  }

  initialize(connection) {
    this.initializing = connection;
    return { method: "POST", message: "initialize", session: null, last_event_id: [] };
  }

  open(kind, connection) {
    const number = ++this.opened;
    this.streams.push({ number, kind, connection, cursor: null, attempts: 0, retry: 0, ready: 0 });
    const call = kind === "call";
    return this.#request(call ? "POST" : "GET", call ? "tools/call" : null);
  }

  /** Comes back to a stream, if it is time to. */
  follow(number, connection, at) {
    const stream = this.lost.find((each) => each.number === number);
    if (stream === undefined) return null;
    if (stream.attempts >= this.attemptsLimit || stream.retry > this.longestWait) return this.#giveUp(stream);
    if (at < stream.ready) return null;
    Object.assign(stream, { connection, attempts: stream.attempts + 1 });
    return this.#request("GET", null, [stream.cursor]);
  }

  leave() {
    const request = this.#request("DELETE", null);
    this.#loseSession();
    return request;
  }

  /** Whether what was seen on a connection, if it is an event, is applied. */
  receive(connection, { at, see, session, status, id, final, ms }) {
    if (connection === this.initializing) {
      this.initializing = 0;
      if (see === "initialized") this.session = session;
      return false;
    }
    const stream = this.streams.find((each) => each.connection === connection);
    if (stream === undefined) return false; // nothing that comes on an old connection counts (CLI-6)
    if (see === "event") {
      Object.assign(stream, { cursor: id ?? stream.cursor, attempts: 0 });
      if (final) this.#over(stream);
      return true;
    }
    if (see === "priming") stream.cursor = id ?? stream.cursor;
    if (see === "retry") stream.retry = ms;
    if (see === "position" && id !== stream.cursor) this.#giveUp(stream);
    if (see === "refused") status === 404 ? this.#loseSession() : this.#giveUp(stream);
    if (["end", "reset", "resumption-required"].includes(see)) {
      if (stream.cursor === null) this.#giveUp(stream);
      else Object.assign(stream, { connection: 0, ready: at + stream.retry });
    }
    return false;
  }

  #request(method, message, last_event_id = []) {
    return { method, message, session: this.session, last_event_id };
  }

  #giveUp(stream) {
    this.told.push({ news: stream.kind === "call" ? "outcome-unknown" : "gap", stream: stream.number });
    this.#over(stream);
    return null;
  }

  #loseSession() {
    [...this.streams].forEach((stream) => this.#giveUp(stream));
    this.told.push({ news: "session-lost" });
    Object.assign(this, { session: null, initializing: 0 });
  }

  #over(stream) {
    this.streams = this.streams.filter((each) => each !== stream);
  }
}
