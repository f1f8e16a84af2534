// An event store that keeps the contract: the events of one session, in memory, within bounds.

import { randomBytes } from "node:crypto";

/** An id stands for a position on its stream, and is known for as long as nothing after it has left. */
export class SessionEventStore {
  #tag = randomBytes(12).toString("base64url");
  #given = 0;
  #bounds;
  /** @type {Map<string, {last: number, held: {position: number, id: string, message: object, at: number, nth: number}[], ids: Map<string, number>}>} */
  #streams = new Map();

  /** @param {{window_events?: number, of?: "stream" | "session", window_ms?: number}} bounds */
  constructor(bounds = {}) {
    this.#bounds = bounds;
  }

  async storeEvent(name, message) {
    if (!this.#streams.has(name)) this.#streams.set(name, { last: 0, held: [], ids: new Map() });
    const stream = this.#streams.get(name);
    const nth = ++this.#given;
    const id = `${this.#tag}.${nth}`;
    const isPriming = Object.keys(message).length === 0;
    if (!isPriming) stream.held.push({ position: ++stream.last, id, message, at: Date.now(), nth });
    stream.ids.set(id, stream.last);
    this.#letGo();
    return id;
  }

  async getStreamIdForEventId(id) {
    this.#letGo();
    return [...this.#streams.keys()].find((name) => this.#streams.get(name).ids.has(id));
  }

  async replayEventsAfter(id, { send }) {
    const name = await this.getStreamIdForEventId(id);
    if (name === undefined) return "";
    const { held, ids } = this.#streams.get(name);
    const after = ids.get(id);
    for (const event of held.filter(({ position }) => position > after)) await send(event.id, event.message);
    return name;
  }

  /** Lets go what is too old or has no room, oldest first, and the ids after which something is then missing. */
  #letGo() {
    const { window_events: room = Infinity, of, window_ms: age = Infinity } = this.#bounds;
    const streams = [...this.#streams.values()];
    for (const group of of === "session" ? [streams] : streams.map((stream) => [stream])) {
      const held = group.flatMap((stream) => stream.held).sort((one, other) => one.nth - other.nth);
      const gone = new Set(held.slice(0, Math.max(0, held.length - room)));
      for (const event of held) if (event.at < Date.now() - age) gone.add(event);
      for (const stream of group) stream.held = stream.held.filter((event) => !gone.has(event));
    }
    for (const { held, ids, last } of streams) {
      const mark = held.length > 0 ? held[0].position - 1 : last;
      for (const [id, position] of ids) if (position < mark) ids.delete(id);
    }
  }
}
