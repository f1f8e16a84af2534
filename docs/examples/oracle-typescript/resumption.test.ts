import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";

import { Client, Recorder } from "./client.ts";
import { Oracle } from "./oracle.ts";
import type { Run } from "./oracle.ts";
import { Server } from "./server.ts";

vi.setConfig({ testTimeout: 60_000 });

const oracle = await Oracle.start();
let server: Server;
let run: Run;
let recorder: Recorder;

beforeEach(async ({ task }) => {
  server = new Server();
  run = oracle.begin(task.name);
  recorder = new Recorder(run, await server.listen());
});

afterEach(() => server.close());

afterAll(async () => {
  expect(await oracle.close()).toBe(0);
});

async function open(): Promise<Client> {
  const client = new Client(recorder);
  await client.open();
  return client;
}

type Cut = { call: number; cursor?: string };

/** Calls, and cuts the connection after some messages; the server sends one more before it sees that. */
async function callAndCut(client: Client, label: string, count: number, after: number): Promise<Cut> {
  for await (const message of client.call(label, count, after + 2)) if (message.params?.data.n === after) break;
  return { call: client.connection, cursor: client.cursor };
}

/** Lets the calls send what they have not sent, to nobody. */
async function missed(): Promise<void> {
  server.goOn();
  await server.idle();
}

/** Goes on from where a call was cut, as far as its response: then it has been followed to its end. */
async function goOn(client: Client, { call, cursor }: Cut): Promise<void> {
  for await (const message of client.resume(cursor)) if (message.result) break;
  client.settle(call);
  await server.idle();
}

test("a call goes on where it was cut", async () => {
  const client = await open();
  const cut = await callAndCut(client, "apples", 5, 2);
  await missed();
  expect((await run.ask()).wrong).toEqual([]); // so far
  await goOn(client, cut);
  const judgement = await run.ask("end");
  expect(judgement.wrong).toEqual([]);
  // That nothing is wrong may mean that nothing was looked at.
  for (const clause of ["EVT-1", "DEL-1", "DEL-2", "DEL-6", "ATT-4"]) expect(judgement.outcome(clause)).toBe("held");
});

test("calls of one session do not mix", async () => {
  const client = await open();
  const [apples, pears] = [await callAndCut(client, "apples", 4, 1), await callAndCut(client, "pears", 4, 1)];
  await missed();
  await goOn(client, apples);
  await goOn(client, pears);
  const judgement = await run.ask("end");
  expect(judgement.wrong).toEqual([]);
  for (const clause of ["DEL-3", "DEL-5"]) expect(judgement.outcome(clause)).toBe("held");
});

test("another session's cursor brings nothing of it", async () => {
  const [one, other] = [await open(), await open()];
  const theirs = await callAndCut(one, "apples", 3, 1);
  await callAndCut(other, "pears", 3, 1);
  await missed();
  for await (const _ of other.resume(theirs.cursor)) break; // one would be too many
  const judgement = await run.ask("end");
  expect(judgement.wrong).toEqual([]);
  expect(judgement.outcome("SES-5")).toBe("held");
  expect(other.status).toBe(400);
});
