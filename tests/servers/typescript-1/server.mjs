// A small, honest server on the official TypeScript SDK 1.x: its public interface, its defaults, and the routing and
// event store of the SDK's own examples. What it adds are the tools that send numbered messages, so that an observer
// can tell what is missing.
//
//   node server.mjs --port 8000 [--store per-session|shared|slow|lookup|none]

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

import { InMemoryEventStore } from "@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { isInitializeRequest, LoggingLevelSchema, SetLevelRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod/v4";

const HOST = "127.0.0.1";
const PATH = "/mcp";
const RETRY_MS = 2000; // of the SDK's example that closes streams
const AWAY_MS = 100; // how long test_reconnection holds its response back once the stream is closed
const WIRE_MS = 2; // how long a slow store's operation takes
const LEVELS = LoggingLevelSchema.options; // the least severe first
const LOG_LEVEL = "info";

/** The shipped store behind a wire: an event takes 2 ms to get there when it is stored, and to come back when it is read. */
class SlowStore {
  #store = new InMemoryEventStore();

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

/** The shipped store with the interface's optional method, by which the transport tells that a cursor is unknown. */
class LookupStore extends InMemoryEventStore {
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

const shared = new InMemoryEventStore();
/** By the name that --store takes: what makes the store of a session. */
const STORES = {
  "per-session": () => new InMemoryEventStore(),
  shared: () => shared,
  slow: () => new SlowStore(),
  lookup: () => new LookupStore(),
  none: () => undefined,
};

const sent = (text) => ({ content: [{ type: "text", text }] });
const count = z.number().int().min(0).max(10_000).describe("How many messages to send.");
const label = z.string().default("").describe("Repeated in every message.");

/** The server of one session. */
function makeServer() {
  const server = new McpServer({ name: "reattach-typescript-1", version: "1" }, { capabilities: { logging: {} } });

  // The SDK's own filter by level serves messages of the standalone stream alone, so the level is kept here.
  let level = LEVELS[0];
  server.server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
    level = params.level;
    return {};
  });
  async function log(send, data) {
    if (LEVELS.indexOf(LOG_LEVEL) < LEVELS.indexOf(level)) return;
    await send({ method: "notifications/message", params: { level: LOG_LEVEL, logger: "reattach", data } });
  }

  server.registerTool(
    "reattach_emit",
    {
      description: "Sends numbered log notifications on the stream of this request, then the result.",
      inputSchema: {
        count,
        interval_ms: z.number().int().min(0).max(60_000).default(0).describe("Milliseconds before each message."),
        size: z.number().int().min(0).max(1_000_000).default(0).describe("Bytes of padding in each message."),
        label,
      },
    },
    async ({ count, interval_ms, size, label }, { sendNotification }) => {
      const padding = "x".repeat(size);
      for (let n = 1; n <= count; n++) {
        if (interval_ms > 0) await sleep(interval_ms);
        await log(sendNotification, { label, n, padding });
      }
      return sent(`sent ${count}`);
    },
  );
  server.registerTool(
    "reattach_push",
    {
      description: "Sends numbered log notifications on the standalone stream of the session, then the result.",
      inputSchema: { count, label },
    },
    async ({ count, label }) => {
      const send = (notification) => server.server.notification(notification);
      for (let n = 1; n <= count; n++) await log(send, { label, n });
      return sent(`sent ${count}`);
    },
  );
  server.registerTool(
    "test_reconnection",
    { description: "Closes the stream of this request before its response." },
    async ({ closeSSEStream }) => {
      if (closeSSEStream) {
        closeSSEStream();
        await sleep(AWAY_MS);
      }
      return sent("done");
    },
  );
  return server;
}

const { values } = parseArgs({ options: { port: { type: "string" }, store: { type: "string", default: "per-session" } } });
const makeStore = STORES[values.store];
if (!values.port || !makeStore) throw new Error(`--port, and a --store of ${Object.keys(STORES).join(", ")}`);

const sessions = new Map();

function refuse(response, status, code, message) {
  response.status(status).json({ jsonrpc: "2.0", error: { code, message }, id: null });
}

async function open(request, response) {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    eventStore: makeStore(),
    retryInterval: RETRY_MS,
    onsessioninitialized: (id) => sessions.set(id, transport),
  });
  transport.onclose = () => sessions.delete(transport.sessionId);
  await makeServer().connect(transport);
  await transport.handleRequest(request, response, request.body);
}

const app = createMcpExpressApp({ host: HOST });
app.all(PATH, async (request, response) => {
  const id = request.headers["mcp-session-id"];
  const transport = sessions.get(id);
  if (transport) await transport.handleRequest(request, response, request.body);
  else if (id) refuse(response, 404, -32001, "Session not found");
  else if (isInitializeRequest(request.body)) await open(request, response);
  else refuse(response, 400, -32000, "Bad Request: No valid session ID provided");
});
app.listen(Number(values.port), HOST);
