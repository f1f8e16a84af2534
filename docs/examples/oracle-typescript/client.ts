// The client: it tells the oracle what it sees, at the point where it takes it.

import type { Observation, Run } from "./oracle.ts";

export type Message = { id?: number; method?: string; params?: any; result?: any; error?: any };
type Block = { id?: string; event?: string; retry?: number; data?: string };

const VERSION = "2025-11-25";
const ACCEPT = { Accept: "application/json, text/event-stream", "Content-Type": "application/json" };

/** What all clients of one server share: the run, the clock and the numbers of the connections. */
export class Recorder {
  #connections = 0;

  constructor(
    readonly run: Run,
    readonly url: string,
  ) {}

  next(): number {
    return ++this.#connections;
  }

  tell(type: string, connection: number, more: object): void {
    const observation: Observation = { type, at: Math.round(performance.now()), connection, ...more };
    this.run.tell(observation);
  }
}

/** A client with a session of its own. */
export class Client {
  #session?: string;
  #ids = 0;
  connection = 0;
  status = 0;
  cursor?: string;

  constructor(readonly recorder: Recorder) {}

  async open(): Promise<void> {
    const params = { protocolVersion: VERSION, capabilities: {}, clientInfo: { name: "example", version: "1" } };
    for await (const _ of this.post({ method: "initialize", params }));
    for await (const _ of this.post({ method: "notifications/initialized" }, false));
  }

  /** Calls the tool that sends numbered messages. What that will be is known, and told. */
  call(label: string, count: number, waits: number): AsyncGenerator<Message> {
    const params = { name: "count", arguments: { label, count, waits } };
    const id = this.#ids + 1;
    const keys = [...Array.from({ length: count }, (_, n) => `${label}#${n + 1}`), `response:${id}`];
    return this.post({ method: "tools/call", params }, true, keys);
  }

  post(message: Message, answered = true, keys?: string[]): AsyncGenerator<Message> {
    const payload = { jsonrpc: "2.0", ...message, ...(answered ? { id: ++this.#ids } : {}) };
    return this.#exchange("POST", payload, undefined, keys);
  }

  /** Goes on with the stream of a cursor. */
  resume(cursor: string | undefined): AsyncGenerator<Message> {
    return this.#exchange("GET", undefined, cursor);
  }

  /** The driver's word that a call was followed to its end. */
  settle(call: number): void {
    this.recorder.tell("settled", call, { last: this.connection });
  }

  /** One request and its answer, message by message. Whoever stops asking for more cuts the connection. */
  async *#exchange(method: string, payload?: Message, cursor?: string, keys?: string[]): AsyncGenerator<Message> {
    const connection = (this.connection = this.recorder.next());
    const tell = (type: string, more: object) => this.recorder.tell(type, connection, more);
    const initialize = payload?.method === "initialize";
    tell("request", {
      method,
      ...(this.#session ? { session: this.#session } : {}),
      ...(initialize ? {} : { revision: VERSION }),
      ...(cursor === undefined ? {} : { cursors: [cursor] }),
      ...(payload ? { rpc_id: payload.id ?? null, rpc_method: payload.method, payload } : {}),
    });
    if (keys) tell("expect", { keys });
    const cut = new AbortController();
    const response = await fetch(this.recorder.url, {
      method,
      headers: {
        ...ACCEPT,
        ...(this.#session ? { "Mcp-Session-Id": this.#session } : {}),
        ...(initialize ? {} : { "MCP-Protocol-Version": VERSION }),
        ...(cursor === undefined ? {} : { "Last-Event-ID": cursor }),
      },
      body: payload && JSON.stringify(payload),
      signal: cut.signal,
    });
    this.status = response.status;
    const type = (response.headers.get("Content-Type") ?? "").split(";")[0].trim().toLowerCase();
    const session = response.headers.get("Mcp-Session-Id");
    tell("response", { status: response.status, content_type: type, session });
    if (initialize && session) this.#session = session;
    if (type !== "text/event-stream") {
      const text = await response.text();
      if (text) tell("body", { payload: parsed(text), size: Buffer.byteLength(text) });
      tell("closed", { by: "server" });
      return;
    }
    let by = "client"; // unless it comes to its end below
    try {
      for await (const { data = "", ...block } of blocks(response.body!)) {
        const message = parsed(data);
        tell("frame", { ...block, payload: message, has_data: data !== "", size: Buffer.byteLength(data) });
        if (block.id !== undefined) this.cursor = block.id;
        if (message) yield message as Message;
      }
      by = "server";
    } catch (error) {
      by = "network";
      throw error;
    } finally {
      tell("closed", { by, clean: by === "server" });
      cut.abort();
    }
  }
}

function parsed(text: string): object | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The blocks of an event stream, as they come; also those without data, which move the cursor. */
async function* blocks(body: ReadableStream<Uint8Array>): AsyncGenerator<Block> {
  let rest = "";
  let block: Block = {};
  const decoder = new TextDecoder();
  for await (const piece of body) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split(/\r\n|\n|\r(?!\n|$)/);
    rest = lines.pop()!;
    for (const line of lines) {
      const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line)!;
      if (line === "") {
        if (Object.keys(block).length > 0) yield block;
        block = {};
      } else if (name === "data") block.data = block.data === undefined ? value : `${block.data}\n${value}`;
      else if (name === "id") block.id = value;
      else if (name === "event") block.event = value;
      else if (name === "retry" && /^\d+$/.test(value)) block.retry = Number(value);
    }
  }
}
