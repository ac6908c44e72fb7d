import { createLog } from "@tradewind/core/process/log.ts";
import { Snapshot } from "@tradewind/core/contract/snapshot.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { NodeAgent } from "@tradewind/agent/run/node-agent.ts";
import type { AgentOptions } from "@tradewind/agent/options.ts";
import { optionsOn } from "./agent-options.ts";
import { FakeClock } from "./fake-clock.ts";
import type { Files, Tree } from "./tree/plant.ts";

/** An agent without its network side on a fixture tree, whose time the test moves. */
export class AgentOn {
  readonly clock = new FakeClock();
  readonly agent: NodeAgent;
  readonly tree: Tree;

  constructor(tree: Tree, options: Partial<AgentOptions> = {}) {
    this.tree = tree;
    this.agent = new NodeAgent(optionsOn(tree, options), {
      clock: this.clock,
      log: createLog("test", "silent"),
      rng: seededRng(7),
      collectGarbage: () => undefined,
    });
  }

  /** One cycle; before it, time passes and files change. */
  cycle(seconds = 1, files: Files = {}): void {
    this.clock.advance(seconds * 1e3);
    this.tree.plant(files);
    while (!this.agent.sample(1e6)) continue;
  }

  metrics(format: "text" | "openmetrics" = "text"): string {
    return [...this.agent.metrics(format)].join("");
  }

  /** The value of one series, undefined when it is not there. */
  metric(series: string): number | undefined {
    const line = this.metrics()
      .split("\n")
      .find((each) => each.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.slice(series.length + 1));
  }

  snapshot(): Snapshot {
    const missing = this.agent.notReady();
    if (missing !== undefined) throw new Error(missing);
    return Snapshot.parse(JSON.parse([...this.agent.snapshot()].join("")));
  }

  [Symbol.dispose](): void {
    this.agent.close();
  }
}
