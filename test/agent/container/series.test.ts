import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { writeFileSync } from "node:fs";
import { WORKLOADS_SCHEMA } from "@tradewind/core/contract/workload.ts";
import { AgentOn } from "../agent-on.ts";
import { Tree } from "../tree/plant.ts";
import { situation, V2 } from "../tree/situation.ts";

let tree: Tree;
beforeEach(() => {
  tree = new Tree();
  tree.plant(situation(V2, {}, {}));
});
afterEach(() => tree[Symbol.dispose]());

const { id, podUid } = V2.containers[0]!;
/** Names of the families of containers, without probes and collectors. */
const families = (text: string): Set<string> =>
  new Set([...text.matchAll(/^# TYPE (tradewind_container_\w+) /gm)].map(([, name = ""]) => name));

describe("the series of a container", () => {
  it("carry namespace, pod and container once the agent knows them", async () => {
    const pod = {
      uid: podUid,
      name: "cart-1",
      node: "node-a",
      ready: true,
      containers: [{ id, name: "web" }],
    };
    const list = {
      schema: WORKLOADS_SCHEMA,
      observedAtMs: 1,
      workloads: [
        {
          service: "cart",
          namespace: "shop",
          kind: "Deployment",
          name: "cart",
          replicasWanted: 1,
          replicasReady: 1,
          pods: [pod],
        },
      ],
    };
    using on = new AgentOn(tree, { workloads: tree.path("workloads.json") });
    await on.agent.pollNames();
    on.cycle();
    on.cycle();
    expect(on.metric(`tradewind_container_memory_usage_bytes{container_id="${id}"}`)).toBeGreaterThan(0);
    writeFileSync(tree.path("workloads.json"), JSON.stringify(list));
    await on.agent.pollNames();
    const labels = `container_id="${id}",container="web",pod="cart-1",namespace="shop"`;
    expect(on.metric(`tradewind_container_memory_usage_bytes{${labels}}`)).toBeGreaterThan(0);
    expect(on.metrics()).toContain(`tradewind_container_interference_ratio{${labels},component="`);
    expect(on.metrics()).not.toContain(`tradewind_container_memory_usage_bytes{container_id="${id}"}`);
  });

  it.each([
    ["all", true, true],
    ["own", false, true],
    ["none", false, false],
  ] as const)("with containerSeries %s", (containerSeries, hasUse, hasInterference) => {
    using on = new AgentOn(tree, { containerSeries });
    on.cycle();
    on.cycle();
    const shown = families(on.metrics());
    expect(shown.has("tradewind_container_cpu_usage_seconds_total")).toBe(hasUse);
    expect(shown.has("tradewind_container_interference_ratio")).toBe(hasInterference);
    expect(shown.has("tradewind_container_cpu_pressure_waiting_seconds_total")).toBe(hasInterference);
    expect(shown.has("tradewind_container_info")).toBe(hasInterference);
    const sample = on.snapshot().containers.find((each) => each.id === id);
    expect(sample?.cpu.usageSecondsTotal).toBeGreaterThan(0);
    expect(sample?.memory.usageBytes).toBeGreaterThan(0);
  });
});
