import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AgentOn } from "../agent-on.ts";
import { v2Files } from "../tree/cgroup-text.ts";
import type { ContainerUse } from "../tree/cgroup-text.ts";
import { GIB, nodeFiles, QUIET_NODE } from "../tree/node.ts";
import { Tree } from "../tree/plant.ts";
import type { Files } from "../tree/plant.ts";

const UID = "11111111-2222-4333-8444-555555555555";
const POD = `/kubepods/burstable/pod${UID}`;
const [A, B, N] = ["a", "b", "f"].map((digit) => digit.repeat(64)) as [string, string, string];

let tree: Tree;
beforeEach(() => {
  tree = new Tree().plant({ ...nodeFiles(QUIET_NODE), "cgroup/cgroup.controllers": "cpu memory io pids\n" });
});
afterEach(() => tree[Symbol.dispose]());

/** Cgroups below the pod, the pod's own as "". */
const cgroups = (uses: Readonly<Record<string, ContainerUse>>): Files =>
  Object.assign(
    {},
    ...Object.entries(uses).map(([id, use]) => v2Files(`cgroup${POD}${id && "/"}${id}`, use)),
  ) as Files;

function live(on: AgentOn, from: number, to: number, files: (seconds: number) => Files): void {
  for (let seconds = from; seconds <= to; seconds += 1) on.cycle(1, files(seconds));
}

const shown = (on: AgentOn, id: string) => on.snapshot().containers.find((each) => each.id === id);
const info = (on: AgentOn, id: string): string =>
  on
    .metrics()
    .split("\n")
    .find((line) => line.startsWith(`tradewind_container_info{container_id="${id}"`)) ?? "";

describe("containers that share a sandbox", () => {
  const files = (seconds: number): Files =>
    cgroups({
      "": { cpuSeconds: 100 + 2 * seconds, memoryBytes: 2 * GIB },
      [A]: { cpuSeconds: 0 },
      [B]: { cpuSeconds: 0 },
    });

  it("have no use of their own, which is counted and said, and their pod shows the whole", () => {
    using on = new AgentOn(tree.plant(files(0)));
    live(on, 1, 20, files);
    for (const id of [A, B]) {
      expect(shown(on, id)?.cpu.usageCores).toBeUndefined();
      expect(shown(on, id)?.memory.workingSetBytes).toBeUndefined();
      expect(info(on, id)).toContain('counted_in="shared"');
    }
    expect(on.metric("tradewind_agent_containers_shared")).toBe(2);
    expect(on.metric(`tradewind_pod_cpu_usage_seconds_total{pod_uid="${UID}"}`)).toBeGreaterThan(120);
    expect(on.metric(`tradewind_pod_memory_working_set_bytes{pod_uid="${UID}"}`)).toBe(2 * GIB);
  });

  it("are measured again when one of them is left, without a step of its counter", () => {
    using on = new AgentOn(tree.plant(files(0)));
    live(on, 1, 20, files);
    tree.remove(`cgroup${POD}/${B}`);
    on.agent.rescan();
    const alone = (seconds: number): Files =>
      cgroups({
        "": { cpuSeconds: 100 + 2 * seconds, memoryBytes: 2 * GIB },
        [A]: { cpuSeconds: 0 },
      });
    live(on, 21, 40, alone);
    expect(shown(on, A)?.cpu.usageCores).toBeCloseTo(2, 6);
    expect(info(on, A)).toContain('counted_in="pod"');
    expect(on.metrics()).not.toContain("tradewind_pod_cpu_usage_seconds_total{");
  });
});

it("a container that is known late to be in a sandbox goes on from the values it showed, without a jump", () => {
  const files = (seconds: number): Files =>
    cgroups({
      // The sandbox sleeps for ten seconds; the file server in the container's own cgroup does little.
      "": { cpuSeconds: 900 + 0.011 * seconds + 2 * Math.max(0, seconds - 10), memoryBytes: 2 * GIB },
      [A]: { cpuSeconds: 5 + 0.01 * seconds, memoryBytes: 1e7 },
    });
  using on = new AgentOn(tree.plant(files(0)));
  const totals: number[] = [];
  for (let second = 1; second <= 60; second += 1) {
    live(on, second, second, files);
    totals.push(shown(on, A)?.cpu.usageSecondsTotal ?? Number.NaN);
  }
  const steps = totals.slice(1).map((total, index) => total - totals[index]!);
  expect(Math.min(...steps)).toBeGreaterThanOrEqual(0);
  expect(totals[0]).toBeCloseTo(5, 1);
  expect(totals.at(-1)).toBeGreaterThan(5 + 2 * 25);
  expect(totals.at(-1)).toBeLessThan(5 + 2 * 50 + 1);
});

describe("an ordinary pod stays one", () => {
  it("when the container that does the work ends, and the next one is seen late", () => {
    const work = (seconds: number): number =>
      1.5 * (Math.min(seconds, 30) + Math.max(0, seconds - 33)) + 0.001 * seconds;
    const files = (seconds: number, others: Readonly<Record<string, ContainerUse>>): Files =>
      cgroups({
        "": { cpuSeconds: 100 + work(seconds), memoryBytes: GIB },
        [N]: { cpuSeconds: 1 + 0.001 * seconds, memoryBytes: 1e7 },
        ...others,
      });
    const first = (seconds: number): Files =>
      files(seconds, { [A]: { cpuSeconds: 50 + 1.5 * seconds, memoryBytes: GIB } });
    const next = (seconds: number): Files =>
      files(seconds, { [B]: { cpuSeconds: 1.5 * (seconds - 33), memoryBytes: GIB } });
    using on = new AgentOn(tree.plant(first(0)));
    live(on, 1, 30, first);
    tree.remove(`cgroup${POD}/${A}`);
    on.agent.rescan();
    live(on, 31, 33, (seconds) => files(seconds, {}));
    live(on, 34, 35, next);
    on.agent.rescan();
    live(on, 36, 60, next);
    expect(on.metric("tradewind_agent_containers_shared")).toBe(0);
    expect(shown(on, B)?.cpu.usageCores).toBeCloseTo(1.5, 2);
    expect(shown(on, N)?.cpu.usageCores).toBeCloseTo(0.001, 3);
    expect(info(on, B)).not.toContain("counted_in");
  });

  it("while its container sleeps and something of little account runs beside it", () => {
    const files = (seconds: number): Files =>
      cgroups({
        "": { cpuSeconds: 100 + 0.011 * seconds, memoryBytes: GIB },
        [A]: { cpuSeconds: 50 + 0.001 * seconds, memoryBytes: GIB },
      });
    using on = new AgentOn(tree.plant(files(0)));
    live(on, 1, 120, files);
    expect(info(on, A)).not.toContain("counted_in");
  });
});
