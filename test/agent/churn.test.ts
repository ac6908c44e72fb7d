import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, expect, test } from "vitest";
import { AgentOn } from "./agent-on.ts";
import { v2Files } from "./tree/cgroup-text.ts";
import { nodeFiles, QUIET_NODE } from "./tree/node.ts";
import { Tree } from "./tree/plant.ts";

let tree: Tree;
beforeEach(() => {
  tree = new Tree().plant({ ...nodeFiles(QUIET_NODE), "cgroup/cgroup.controllers": "cpu memory io\n" });
});
afterEach(() => tree[Symbol.dispose]());

const PODS = 10;
const STEP_SECONDS = 600;
const STEPS_A_DAY = 86_400 / STEP_SECONDS;
const DAYS = 7;

function podFolder(pod: number): string {
  return `cgroup/kubepods/burstable/pod${pod.toString(16).padStart(8, "0")}-0000-4000-8000-000000000000`;
}

function plantPod(pod: number): void {
  for (const part of ["a", "b"]) {
    tree.plant(
      v2Files(`${podFolder(pod)}/${part}${pod.toString(16).padStart(63, "0")}`, { cpuSeconds: pod }),
    );
  }
}

test(
  "seven days of pods coming and going leave descriptors, series, signals and heap as they were",
  { timeout: 60_000 },
  async () => {
    setFlagsFromString("--expose-gc");
    const collectGarbage = runInNewContext("gc") as () => void;
    for (let pod = 0; pod < PODS; pod += 1) plantPod(pod);
    using on = new AgentOn(tree);
    const held = (): Record<string, number> => {
      const text = on.metrics();
      const value = (name: string): number =>
        Number(new RegExp(`^tradewind_agent_${name} (\\S+)$`, "m").exec(text)?.[1]);
      collectGarbage();
      return {
        openFiles: value("open_files"),
        signals: value("signals"),
        containers: value("containers"),
        series: text.split("\n").length,
        heapBytes: process.memoryUsage().heapUsed,
      };
    };
    const byDay: Record<string, number>[] = [];
    for (let step = 1; step <= DAYS * STEPS_A_DAY; step += 1) {
      tree.remove(podFolder(step - 1));
      plantPod(step - 1 + PODS);
      on.agent.rescan();
      on.cycle(STEP_SECONDS);
      // Closed watchers are given back in the event loop.
      await turn();
      if (step % STEPS_A_DAY === 0) byDay.push(held());
    }
    const [first, ...others] = byDay;
    for (const day of others) {
      expect(day).toMatchObject({
        openFiles: first!["openFiles"],
        signals: first!["signals"],
        containers: 2 * PODS,
        series: first!["series"],
      });
    }
    expect(on.metric("tradewind_agent_containers_removed_total")).toBe(2 * DAYS * STEPS_A_DAY);
    // The first days warm the compiler up; a pod that left a kilobyte behind would show as 700 KB from then on.
    expect(byDay.at(-1)!["heapBytes"]! - byDay[1]!["heapBytes"]!).toBeLessThan(512 * 1024);
  },
);
