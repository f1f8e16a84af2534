// What the TypeScript clients share: which calls they make, and how they tell what their application got. The contract
// is reattach-client/1 (docs/clients.md).

const UNLESS_GIVEN = [
  { label: "call", tool: "reattach_emit", arguments: { count: 10, interval_ms: 50, label: "call" } },
];

export function tell(said) {
  process.stdout.write(JSON.stringify(said) + "\n");
}

// Connects a client, makes all calls, each when the one that it comes after is over, and says goodbye. `onLog` registers
// what gets the params of each log notification.
export async function run({ client, transport, onLog }) {
  const calls = process.env.REATTACH_CALLS ? JSON.parse(process.env.REATTACH_CALLS) : UNLESS_GIVEN;
  client.onerror = (error) => tell({ event: String(error) });
  onLog((params) => tell({ applied: params }));
  try {
    await client.connect(transport);
    await client.setLoggingLevel("debug");
    const over = new Map();
    for (const wanted of calls) over.set(wanted.label, call(client, wanted, over));
    await Promise.all(over.values());
    await transport.terminateSession();
    await client.close();
  } catch (error) {
    tell({ error: String(error) });
    process.exitCode = 1;
  }
}

async function call(client, wanted, over) {
  await over.get(wanted.after);
  try {
    const result = await client.callTool({ name: wanted.tool, arguments: wanted.arguments });
    tell({ result, call: wanted.label });
  } catch (error) {
    tell({ error: String(error), call: wanted.label });
  }
}
