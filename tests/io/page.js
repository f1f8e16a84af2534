// What a page does with an MCP server: EventSource cannot send the headers of a session, so it reads with fetch.
async (url) => {
  const call = (id, count, label) => ({
    jsonrpc: "2.0", id, method: "tools/call",
    params: { name: "reattach_emit", arguments: { count, interval_ms: 5, label } },
  });
  let headers = {};
  const post = (message, options = {}) => fetch(url, {
    method: "POST",
    headers: { ...headers, "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
    body: JSON.stringify(message), ...options,
  });
  const resume = (cursor) => fetch(url, {
    headers: { ...headers, Accept: "text/event-stream", "Last-Event-ID": cursor },
  });
  const idsOf = (text) => [...text.matchAll(/^id: ?(.*)$/gm)].map((match) => match[1]);

  const opened = await post({
    jsonrpc: "2.0", id: 1, method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "page", version: "1" } },
  });
  await opened.text();
  headers = { "Mcp-Session-Id": opened.headers.get("mcp-session-id"), "MCP-Protocol-Version": "2025-11-25" };
  await (await post({ jsonrpc: "2.0", method: "notifications/initialized" })).text();

  // A call read to its end, and resumed from the middle of what it sent.
  const ids = idsOf(await (await post(call(2, 6, "whole"))).text());
  await (await resume(ids[3])).text();

  // A call cut after a few events, and resumed from the last of them.
  const stop = new AbortController();
  const reader = (await post(call(3, 12, "cut"), { signal: stop.signal })).body.getReader();
  const decoder = new TextDecoder();
  let read = "";
  while (idsOf(read).length < 4) {
    read += decoder.decode((await reader.read()).value, { stream: true });
  }
  stop.abort();
  await (await resume(idsOf(read.slice(0, read.lastIndexOf("\n\n"))).pop())).text();

  await (await fetch(url, { method: "DELETE", headers })).text();
  return (await post({ jsonrpc: "2.0", id: 4, method: "ping" })).status;
}
