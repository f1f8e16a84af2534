// `reattach oracle` as a child process: observations in, findings and verdicts out.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export type Observation = { type: string; at: number; connection: number; [key: string]: unknown };
export type Finding = { clause: string; fault: string; fails: boolean; summary: string; right: string; steps: string[] };
type Clause = { id: string; outcome: "held" | "violated" | "not observed"; note: string };
type Report = { verdict: "conforms" | "violates" | "no-verdict"; clauses: Clause[] };

/** What is known of a run up to now. */
export class Judgement {
  constructor(
    readonly report: Report,
    readonly findings: Finding[],
  ) {}

  /** What is wrong, so that it can be read in a failed assertion. */
  get wrong(): string[] {
    const failing = this.findings.filter((each) => each.fails);
    return failing.map((each) => [`${each.clause}: ${each.summary}`, `right: ${each.right}`, ...each.steps].join("\n"));
  }

  outcome(clause: string): string {
    return this.report.clauses.find((each) => each.id === clause)?.outcome ?? "not a clause of this profile";
  }
}

type Waiting = { resolve(judgement: Judgement): void; reject(error: Error): void };

/** A server that is judged: the observations of all its clients, in the order in which they were made. */
export class Run {
  readonly findings: Finding[] = [];
  readonly waiting: Waiting[] = [];

  constructor(
    readonly name: string,
    readonly write: (line: object) => void,
  ) {}

  tell(line: object): void {
    this.write({ run: this.name, line });
  }

  /** The verdict so far. */
  ask(type: "ask" | "end" = "ask"): Promise<Judgement> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      this.tell({ type });
    });
  }
}

export class Oracle {
  #process = spawn(process.env.REATTACH ?? "reattach", ["oracle"], { stdio: ["pipe", "pipe", "inherit"] });
  #answers = createInterface({ input: this.#process.stdout });
  #runs = new Map<string, Run>();

  private constructor() {
    this.#answers.on("line", (line) => this.#take(JSON.parse(line)));
    this.#process.on("exit", () => this.#fail(new Error("the oracle is gone")));
  }

  static async start(): Promise<Oracle> {
    const oracle = new Oracle();
    const [first] = await Promise.race([once(oracle.#answers, "line"), once(oracle.#process, "exit")]);
    if (JSON.parse(first).schema !== "reattach-oracle/1") throw new Error(`no oracle of this version: ${first}`);
    return oracle;
  }

  /** Begins a run; `complete`: everything that passes between the server and all its clients will be told. */
  begin(name: string): Run {
    const run = new Run(name, (line) => this.#process.stdin.write(`${JSON.stringify(line)}\n`));
    this.#runs.set(name, run);
    run.tell({ schema: "reattach-trace/1", revision: "2025-11-25", complete: true });
    return run;
  }

  /** Ends the process; its exit code. */
  async close(): Promise<number> {
    const over = once(this.#process, "exit");
    this.#process.stdin.end();
    return (await over)[0];
  }

  #take(answer: any): void {
    const run = this.#runs.get(answer.run);
    if (answer.type === "error") this.#fail(new Error(`line ${answer.line} for the oracle: ${answer.reason}`));
    else if (answer.type === "finding") run?.findings.push(answer);
    else if (answer.type === "verdict") run?.waiting.shift()?.resolve(new Judgement(answer.report, run.findings));
  }

  #fail(error: Error): void {
    for (const run of this.#runs.values()) for (const each of run.waiting.splice(0)) each.reject(error);
  }
}
