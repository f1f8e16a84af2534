// Runs the contract of event stores on the class of a file: node --test shipped.mjs, with
//   FILE, CLASS   where it is; what a file does not export is cut out of its source, with the imports of node:crypto
//   SHARED        one store for all sessions, in place of one for each
//   ROOM          the option of its constructor that bounds the events of a session; it has no other bound

import { readFileSync } from "node:fs";
import { mock, test } from "node:test";
import { pathToFileURL } from "node:url";
import { storeContract } from "../../docs/examples/store-contract-typescript/contract.mjs";

const { FILE, CLASS, SHARED, ROOM } = process.env;

/** The class, from `class NAME` to the brace in the first column that ends it. */
async function cutOut() {
  const source = readFileSync(FILE, "utf8").match(new RegExp(`^(export )?class ${CLASS} [^]*?^}`, "m"))[0];
  const text = `import { randomBytes, randomUUID } from "node:crypto";\n${source.replace("export ", "")}\nexport default ${CLASS};`;
  return (await import(`data:text/javascript,${encodeURIComponent(text)}`)).default;
}

const Store = ROOM ? (await import(pathToFileURL(FILE)))[CLASS] : await cutOut();

function makeStores(bounds) {
  if (bounds && !(ROOM && bounds.of === "session")) return undefined;
  const make = () => new Store(bounds && { [ROOM]: bounds.window_events });
  const shared = make();
  const stores = new Map();
  return (session) => {
    if (!stores.has(session)) stores.set(session, SHARED ? shared : make());
    return stores.get(session);
  };
}

mock.timers.enable({ apis: ["Date"] });
for (const { name, skip, run } of storeContract(makeStores)) {
  test(name, { skip }, () => run((ms) => mock.timers.setTime(ms)));
}
