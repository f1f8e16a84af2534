// Runs the contract on the store beside it: node --test

import { mock, test } from "node:test";
import { storeContract } from "./contract.mjs";
import { SessionEventStore } from "./store.mjs";

/** A store for each session. */
function makeStores(bounds) {
  const stores = new Map();
  return (session) => {
    if (!stores.has(session)) stores.set(session, new SessionEventStore(bounds));
    return stores.get(session);
  };
}

mock.timers.enable({ apis: ["Date"] });
for (const { name, skip, run } of storeContract(makeStores, { namedByClients: true })) {
  test(name, { skip }, () => run((ms) => mock.timers.setTime(ms)));
}
