// What the TypeScript clients share: which calls they are to make, and how they tell what their application got.
// contract.py beside it says what the lines are.

const UNLESS_GIVEN = [
  { label: "call", tool: "reattach_emit", arguments: { count: 10, interval_ms: 50, label: "call" } },
];

export function tell(said) {
  process.stdout.write(JSON.stringify(said) + "\n");
}

// Connects a client, makes all calls at once, and says goodbye. `onLog` registers what gets the params of each log
// notification.
export async function run({ client, transport, onLog }) {
  const calls = process.env.REATTACH_CALLS ? JSON.parse(process.env.REATTACH_CALLS) : UNLESS_GIVEN;
  client.onerror = (error) => tell({ event: String(error) });
  onLog((params) => tell({ applied: params }));
  try {
    await client.connect(transport);
    await client.setLoggingLevel("debug");
    await Promise.all(calls.map((wanted) => call(client, wanted)));
    await transport.terminateSession();
    await client.close();
  } catch (error) {
    tell({ error: String(error) });
    process.exitCode = 1;
  }
}

async function call(client, wanted) {
  try {
    const result = await client.callTool({ name: wanted.tool, arguments: wanted.arguments });
    tell({ result, call: wanted.label });
  } catch (error) {
    tell({ error: String(error), call: wanted.label });
  }
}
