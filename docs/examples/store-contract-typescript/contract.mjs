// The contract of an event store, from the vectors of kind `store`: for any store with the SDK's `EventStore` interface.

import { deepStrictEqual, match, ok, strictEqual } from "node:assert";
import { readFileSync } from "node:fs";

const folder = process.env.VECTORS ?? new URL("../../../spec/vectors", import.meta.url).pathname;
const read = (path) => JSON.parse(readFileSync(`${folder}/store/${path}`, "utf8"));
const PRIMING = {}; // what the SDK stores for priming
const EPOCH = Date.UTC(2027, 0, 15);

/**
 * The tests: what each is called, why it is left out (or false), and what it does, given how the clock is set.
 * @param makeStores gives, for the bounds of a vector, a function from the number of a session to its store; undefined
 *   for bounds that the store does not declare
 * @param namedByClients whether clients choose the names of streams; in the SDK they do not
 * @returns {{name: string, skip: string | false, run: (setTime: (ms: number) => void) => Promise<void>}[]}
 */
export function storeContract(makeStores, { namedByClients = false } = {}) {
  return read("manifest.json").cases.map(({ file, tests }) => {
    const { name, clauses, bounds, named_by, steps } = read(file);
    const unobserved = named_by && !namedByClients ? "streams are named by the SDK" : `no bounds ${JSON.stringify(bounds)}`;
    const skip = (named_by && !namedByClients) || !makeStores(bounds) ? `not observed: ${unobserved}` : false;
    return { name: `${name}: ${tests} ${clauses.join(", ")}`, skip, run: (setTime) => play(steps, makeStores(bounds), setTime) };
  });
}

async function play(steps, storeOf, setTime) {
  const ids = [];
  const given = new Set();
  async function store({ at, session, stream, priming }) {
    setTime(EPOCH + at);
    const event = ids.length + 1;
    const id = await storeOf(session).storeEvent(stream, priming ? PRIMING : messageOf(event));
    match(id, /^[\x21-\x7e]+$/, "an id is visible ASCII");
    ok(!given.has(`${session} ${id}`), `event ${event} was given the id of another event: ${id}`);
    given.add(`${session} ${id}`);
    ids.push(id);
  }
  for (const { do: what, expect, after, meanwhile = [], ...step } of steps) {
    setTime(EPOCH + step.at);
    if (what === "store") {
      await store(step);
      strictEqual(ids.length, expect.event);
      continue;
    }
    const { event, before = "", then = "" } = typeof after === "number" ? { event: after } : after;
    const waiting = [...meanwhile];
    const storeWaiting = async () => {
      while (waiting.length > 0) await store(waiting.shift());
    };
    const answer = await replay(storeOf(step.session), `${before}${ids[event - 1] ?? ""}${then}`, storeWaiting);
    await storeWaiting();
    const may = [...(expect.events ?? []), ...(expect.later ?? [])];
    const owed = may.slice(0, Math.max(answer.sent.length, expect.events?.length ?? 0));
    const sent = owed.map((event) => ({ id: ids[event - 1], message: messageOf(event) }));
    const { decision, stream } = expect;
    deepStrictEqual(answer, decision === "refuse" ? { decision, sent } : { decision, stream, sent });
  }
}

/** What a transport learns: only by `getStreamIdForEventId` that a cursor is refused. */
async function replay(store, cursor, afterEach) {
  const sent = [];
  const named = await store.getStreamIdForEventId?.(cursor);
  if (store.getStreamIdForEventId && named === undefined) return { decision: "refuse", sent };
  const send = async (id, message) => {
    sent.push({ id, message });
    await afterEach();
  };
  const stream = await store.replayEventsAfter(cursor, { send });
  if (named !== undefined) strictEqual(named, stream, "both methods name one stream");
  return stream ? { decision: "re-attach", stream, sent } : { decision: "silence", sent };
}

function messageOf(event) {
  if (event % 3 === 0) return { jsonrpc: "2.0", id: event, result: { n: event } };
  return { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: event } };
}
