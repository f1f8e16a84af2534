// A small, honest server on the official TypeScript SDK 2.x: its public interface, its defaults, and the routing of the
// SDK's own examples. What it adds are the tools that send numbered messages, so that an observer can tell what is
// missing, and the event store, which the 2.x packages do not ship: the one of the SDK's examples, in our words.
//
//   node server.mjs --port 8000 [--store shared|per-session|slow|lookup|none] [--era dual|sessions|stateless]

import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

import { createMcpExpressApp } from "@modelcontextprotocol/express";
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from "@modelcontextprotocol/node";
import { createMcpHandler, isInitializeRequest, isLegacyRequest, McpServer } from "@modelcontextprotocol/server";
import * as z from "zod/v4";

const HOST = "127.0.0.1";
const PATH = "/mcp";
const RETRY_MS = 300; // of the SDK's example that closes streams
const AWAY_MS = 100; // how long test_reconnection holds its response back once the stream is closed
const WIRE_MS = 2; // how long a slow store's operation takes

/** Every event that was ever stored, in the order in which it came. */
class MemoryEventStore {
  #events = new Map();

  async storeEvent(streamId, message) {
    const eventId = [streamId, Date.now(), randomBytes(4).toString("hex")].join("_");
    this.#events.set(eventId, { streamId, message });
    return eventId;
  }

  /** Sends what the cursor's stream holds after it; returns the stream, and an empty name for an unknown cursor. */
  async replayEventsAfter(lastEventId, { send }) {
    const streamId = this.#events.get(lastEventId)?.streamId;
    if (streamId === undefined) return "";
    let after = false;
    for (const [eventId, event] of this.#events) {
      if (after && event.streamId === streamId) await send(eventId, event.message);
      after ||= eventId === lastEventId;
    }
    return streamId;
  }
}

/** The store behind a wire: an event takes 2 ms to get there when it is stored, and to come back when it is read. */
class SlowStore {
  #store = new MemoryEventStore();

  async storeEvent(streamId, message) {
    await sleep(WIRE_MS);
    return this.#store.storeEvent(streamId, message);
  }

  async replayEventsAfter(lastEventId, { send }) {
    const read = [];
    const streamId = await this.#store.replayEventsAfter(lastEventId, { send: async (...event) => read.push(event) });
    await sleep(WIRE_MS);
    for (const event of read) await send(...event);
    return streamId;
  }
}

/** The store with the interface's optional method, by which the transport tells that a cursor is unknown. */
class LookupStore extends MemoryEventStore {
  #streamOf = new Map();

  async storeEvent(streamId, message) {
    const eventId = await super.storeEvent(streamId, message);
    this.#streamOf.set(eventId, streamId);
    return eventId;
  }

  async getStreamIdForEventId(eventId) {
    return this.#streamOf.get(eventId);
  }
}

const theOne = (store) => () => store;
/** By the name that --store takes: what makes the store of a session. */
const STORES = {
  shared: theOne(new MemoryEventStore()),
  "per-session": () => new MemoryEventStore(),
  slow: theOne(new SlowStore()),
  lookup: theOne(new LookupStore()),
  none: theOne(undefined),
};

const sent = (text) => ({ content: [{ type: "text", text }] });
const count = z.number().int().min(0).max(10_000).describe("How many messages to send.");
const label = z.string().default("").describe("Repeated in every message.");

/** The server of one session; where there are none, of one request. */
function makeServer() {
  const server = new McpServer({ name: "reattach-typescript-2", version: "1" }, { capabilities: { logging: {} } });
  server.registerTool(
    "reattach_emit",
    {
      description: "Sends numbered log notifications on the stream of this request, then the result.",
      inputSchema: z.object({
        count,
        interval_ms: z.number().int().min(0).max(60_000).default(0).describe("Milliseconds before each message."),
        size: z.number().int().min(0).max(1_000_000).default(0).describe("Bytes of padding in each message."),
        label,
      }),
    },
    async ({ count, interval_ms, size, label }, { mcpReq }) => {
      const padding = "x".repeat(size);
      for (let n = 1; n <= count; n++) {
        if (interval_ms > 0) await sleep(interval_ms);
        await mcpReq.log("info", { label, n, padding }, "reattach");
      }
      return sent(`sent ${count}`);
    },
  );
  server.registerTool(
    "reattach_push",
    {
      description: "Sends numbered log notifications on the standalone stream of the session, then the result.",
      inputSchema: z.object({ count, label }),
    },
    async ({ count, label }, { sessionId }) => {
      for (let n = 1; n <= count; n++) {
        await server.sendLoggingMessage({ level: "info", logger: "reattach", data: { label, n } }, sessionId);
      }
      return sent(`sent ${count}`);
    },
  );
  server.registerTool(
    "test_reconnection",
    { description: "Closes the stream of this request before its response." },
    async ({ http }) => {
      if (http?.closeSSE) {
        http.closeSSE();
        await sleep(AWAY_MS);
      }
      return sent("done");
    },
  );
  return server;
}

const sessions = new Map();

function refuse(response, status, code, message) {
  response.status(status).json({ jsonrpc: "2.0", error: { code, message }, id: null });
}

async function open(request, response) {
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    eventStore: makeStore(),
    retryInterval: RETRY_MS,
    onsessioninitialized: (id) => sessions.set(id, transport),
  });
  transport.onclose = () => sessions.delete(transport.sessionId);
  await makeServer().connect(transport);
  await transport.handleRequest(request, response, request.body);
}

/** Serves the revisions that have sessions. */
async function serveSessions(request, response) {
  const id = request.headers["mcp-session-id"];
  const transport = sessions.get(id);
  if (transport) await transport.handleRequest(request, response, request.body);
  else if (id) refuse(response, 404, -32001, "Session not found");
  else if (isInitializeRequest(request.body)) await open(request, response);
  else refuse(response, 400, -32000, "Bad Request: Session ID required");
}

/** Serves 2026-07-28 beside them, by the request's own word: the SDK's way to keep sessions for older clients. */
function serveDual() {
  const modern = toNodeHandler(createMcpHandler(makeServer, { legacy: "reject" }));
  return async (request, response) => {
    const legacy = request.method !== "POST" || (await isLegacyRequest(await toWebRequest(request, request.body)));
    await (legacy ? serveSessions(request, response) : modern(request, response, request.body));
  };
}

/** Serves every revision without sessions: the SDK's default. */
function serveStateless() {
  const handler = toNodeHandler(createMcpHandler(makeServer));
  return (request, response) => handler(request, response, request.body);
}

const ERAS = { dual: serveDual, sessions: () => serveSessions, stateless: serveStateless };

const { values } = parseArgs({
  options: {
    port: { type: "string" },
    store: { type: "string", default: "shared" },
    era: { type: "string", default: "dual" },
  },
});
const makeStore = STORES[values.store];
const makeHandler = ERAS[values.era];
if (!values.port || !makeStore || !makeHandler) {
  throw new Error(`--port, a --store of ${Object.keys(STORES).join(", ")}, an --era of ${Object.keys(ERAS).join(", ")}`);
}
const app = createMcpExpressApp({ host: HOST });
app.all(PATH, makeHandler());
app.listen(Number(values.port), HOST);
