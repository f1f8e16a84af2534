// Runs the vectors of the client, but those for clients that recognise what they have applied: node --test

import { deepStrictEqual } from "node:assert";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Client } from "./client.mjs";

const folder = process.env.VECTORS ?? new URL("../../../spec/vectors", import.meta.url).pathname;
const read = (path) => JSON.parse(readFileSync(`${folder}/client/${path}`, "utf8"));

/** What the client does about one step of a vector, as the step's `expect` has it. */
function answer(client, step) {
  const before = client.told.length;
  const { do: asked, connection, stream, at } = step;
  const answered = {};
  if (asked === undefined) {
    const applies = client.receive(connection, step);
    if (step.see === "event") answered.applies = applies;
  } else if (asked === "initialize") answered.sends = client.initialize(connection);
  else if (asked === "follow") answered.sends = client.follow(stream, connection, at);
  else answered.sends = asked === "leave" ? client.leave() : client.open(asked, connection);
  const told = client.told.slice(before);
  const lost = client.lost.map((each) => ({
    stream: each.number,
    last_event_id: [each.cursor],
    not_before: each.ready,
  }));
  if (told.length > 0) answered.told = told;
  if (lost.length > 0) answered.lost = lost;
  if (client.mustInitialize) answered.must_initialize = true;
  return answered;
}

for (const { file, tests } of read("manifest.json").cases) {
  const vector = read(file);
  if (vector.memory > 0) continue;
  test(`client/${file}: ${tests}`, () => {
    const client = new Client(vector.attempts_limit, vector.longest_wait_ms);
    for (const step of vector.steps) deepStrictEqual(answer(client, step), step.expect);
  });
}
