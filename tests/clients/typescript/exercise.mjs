// The official TypeScript clients against a server: initialize, list, call with notifications, listen, resume after
// cuts. Prints what was seen as one line of JSON; whoever runs it makes the cuts.
//
//   node exercise.mjs v1|v2|stateless URL

import { readFile } from "node:fs/promises";

const BOUND = 30_000;

async function packageVersion(name) {
  const manifest = new URL(`./node_modules/${name}/package.json`, import.meta.url);
  return JSON.parse(await readFile(manifest, "utf8")).version;
}

async function makeV1(url) {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { LoggingMessageNotificationSchema } = await import("@modelcontextprotocol/sdk/types.js");
  const client = new Client({ name: "exercise", version: "1" });
  return {
    sdk: await packageVersion("@modelcontextprotocol/sdk"),
    client,
    transport: new StreamableHTTPClientTransport(url),
    onLog: (handler) => client.setNotificationHandler(LoggingMessageNotificationSchema, (said) => handler(said.params)),
  };
}

async function makeV2(url, options) {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const client = new Client({ name: "exercise", version: "1" }, options);
  return {
    sdk: await packageVersion("@modelcontextprotocol/client"),
    client,
    transport: new StreamableHTTPClientTransport(url),
    onLog: (handler) => client.setNotificationHandler("notifications/message", (said) => handler(said.params)),
  };
}

async function exercise(kind, address) {
  const url = new URL(address);
  const stateless = kind === "stateless";
  const made =
    kind === "v1"
      ? await makeV1(url)
      : await makeV2(url, stateless ? { versionNegotiation: { mode: { pin: "2026-07-28" } } } : {});
  const { client, transport } = made;
  const seen = { emit: [], push: [] };
  let pushed;
  const allPushed = new Promise((resolve) => (pushed = resolve));
  made.onLog(({ data }) => {
    seen[data.label].push(data.n);
    if (seen.push.length >= 10) pushed();
  });
  await client.connect(transport);
  const { tools } = await client.listTools();
  const call = (name, args) =>
    client.callTool({
      name,
      arguments: args,
      ...(stateless ? { _meta: { "io.modelcontextprotocol/logLevel": "debug" } } : {}),
    });
  const results = [await call("reattach_emit", { count: 30, interval_ms: 5, label: "emit" })];
  if (!stateless) {
    await client.setLoggingLevel("debug");
    results.push(await call("reattach_push", { count: 10, interval_ms: 5, label: "push" }));
    const timer = setTimeout(() => {
      console.error(`only ${seen.push.length} of 10 pushes came`);
      process.exit(1);
    }, BOUND);
    await allPushed;
    clearTimeout(timer);
    await transport.terminateSession();
  }
  await client.close();
  return {
    sdk: made.sdk,
    revision: stateless ? "2026-07-28" : transport.protocolVersion,
    tools: tools.map((tool) => tool.name),
    emitted: seen.emit,
    pushed: seen.push,
    results: results.map((result) => result.content[0].text),
  };
}

const [kind, address] = process.argv.slice(2);
console.log(JSON.stringify(await exercise(kind, address)));
