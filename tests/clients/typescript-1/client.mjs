// A client on the TypeScript SDK 1.x, by its defaults.
//
//   node client.mjs URL

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { LoggingMessageNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { run } from "../contract/contract.mjs";

const client = new Client({ name: "reattach-client", version: "1" });
await run({
  client,
  transport: new StreamableHTTPClientTransport(new URL(process.argv[2])),
  onLog: (handler) => client.setNotificationHandler(LoggingMessageNotificationSchema, (said) => handler(said.params)),
});
