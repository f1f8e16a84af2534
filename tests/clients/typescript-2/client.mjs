// A client on the TypeScript SDK 2.x, by its defaults. By them it
// speaks the revisions that have sessions.
//
//   node client.mjs URL

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { run } from "../contract/contract.mjs";

const client = new Client({ name: "reattach-client", version: "1" });
await run({
  client,
  transport: new StreamableHTTPClientTransport(new URL(process.argv[2])),
  onLog: (handler) => client.setNotificationHandler("notifications/message", (said) => handler(said.params)),
});
