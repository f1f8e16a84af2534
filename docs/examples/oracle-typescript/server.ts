// The server under test: a tool on the official SDK, and an event store, which the SDK leaves to whoever deploys it.

import { randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate } from "node:timers/promises";

import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { EventStore } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod/v4";

type Send = (eventId: string, message: JSONRPCMessage) => Promise<void>;

/** The events of one session, oldest first. */
class Events implements EventStore {
  #events: { seq: number; id: string; stream: string; message: JSONRPCMessage }[] = [];

  async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    const seq = this.#events.length + 1;
    const id = `${stream}/${seq}`;
    this.#events.push({ seq, id, stream, message });
    return id;
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#events.find((event) => event.id === id)?.stream;
  }

  async replayEventsAfter(id: string, { send }: { send: Send }): Promise<string> {
    const last = this.#events.find((event) => event.id === id);
    if (!last) throw new Error("no such event");
    for (const event of this.#events) {
      if (event.seq > last.seq && event.stream === last.stream) await send(event.id, event.message);
    }
    return last.stream;
  }
}

/** The server on a free port, until it is closed. */
export class Server {
  #sessions = new Map<string, StreamableHTTPServerTransport>();
  #http = createServer((request, response) => this.#busy(() => this.#serve(request, response)));
  #work = new EventEmitter();
  #working = 0;

  async listen(): Promise<string> {
    await once(this.#http.listen(0, "127.0.0.1"), "listening");
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}/mcp`;
  }

  close(): void {
    this.#http.close();
    this.#http.closeAllConnections();
  }

  /** Lets the calls that wait go on. */
  goOn(): void {
    this.#work.emit("go on");
  }

  /** Waits until no call runs and no response is open: the server has seen a cut, and stored what the call sent. */
  async idle(): Promise<void> {
    while (this.#working > 0) await once(this.#work, "done");
    await setImmediate();
  }

  async #busy(work: () => Promise<void>): Promise<void> {
    this.#working += 1;
    await work().finally(() => (this.#working -= 1));
    this.#work.emit("done");
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const over = once(response, "close");
    const id = request.headers["mcp-session-id"];
    const transport = id === undefined ? await this.#open() : this.#sessions.get(String(id));
    if (transport) await transport.handleRequest(request, response);
    else response.writeHead(404).end();
    await over;
  }

  async #open(): Promise<StreamableHTTPServerTransport> {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new Events(),
      onsessioninitialized: (id) => void this.#sessions.set(id, transport),
    });
    const server = new McpServer({ name: "counting", version: "1" }, { capabilities: { logging: {} } });
    server.registerTool(
      "count",
      {
        description: "Sends so many numbered messages, and waits before one of them.",
        inputSchema: { label: z.string(), count: z.number(), waits: z.number() },
      },
      async ({ label, count, waits }, { sendNotification }) => {
        await this.#busy(async () => {
          for (let n = 1; n <= count; n++) {
            if (n === waits) await once(this.#work, "go on");
            const params = { level: "info" as const, data: { label, n } };
            await sendNotification({ method: "notifications/message", params });
          }
        });
        return { content: [{ type: "text", text: "done" }] };
      },
    );
    await server.connect(transport);
    return transport;
  }
}
