// Runs the vectors of the cursor parser and of the decision: node --test

import { deepStrictEqual } from "node:assert";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { decide, parseCursor } from "./resumption.mjs";

const folder = process.env.VECTORS ?? new URL("../../../spec/vectors", import.meta.url).pathname;
const read = (path) => JSON.parse(readFileSync(`${folder}/${path}`, "utf8"));

const answers = {
  cursor: (vector) => parseCursor(vector.last_event_id),
  decision: (vector) => decide(vector),
};

for (const [kind, answer] of Object.entries(answers)) {
  for (const { file, tests } of read(`${kind}/manifest.json`).cases) {
    const vector = read(`${kind}/${file}`);
    test(`${kind}/${file}: ${tests}`, () => deepStrictEqual(answer(vector), vector.expect));
  }
}
