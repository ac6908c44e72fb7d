import { UNTUNED } from "@tradewind/simulator/contenders/contender.ts";
import type { NodeClassList } from "@tradewind/core/contract/node-classes.ts";
import { NodeClassList as Answer } from "@tradewind/core/contract/node-classes.ts";
import { inWords } from "@tradewind/predictor/commands/ask/node-classes.ts";
import { factorOf } from "@tradewind/predictor/nodes/class-speeds.ts";
import { nodeClassesOf } from "@tradewind/predictor/nodes/node-classes.ts";
import { Placing } from "@tradewind/predictor/answers/placement/placing.ts";
import type { PolicyInputs } from "@tradewind/predictor/decide/inputs.ts";
import { decide } from "@tradewind/predictor/decide/ladder.ts";
import { startOurs } from "@tradewind/simulator/contenders/ours/ours.ts";
import type { Kind } from "@tradewind/simulator/contenders/ours/ours.ts";
import { run } from "@tradewind/simulator/contenders/run.ts";
import { obstacle } from "@tradewind/simulator/course/obstacle.ts";
import type { ObstacleInput } from "@tradewind/simulator/course/obstacle.ts";
import { obstacleOf } from "@tradewind/simulator/course/plant.ts";
import { cpu, service, work } from "@tradewind/simulator/applications/course-shop.ts";
import type { World } from "@tradewind/simulator/world.ts";
import { describe, expect, it } from "vitest";

const NEW = { instanceType: "new.large", speed: 1 };
const OLD = { instanceType: "old.large", speed: 0.6 };

/** One service with a pod on each of four nodes of two kinds in turn. */
const SMALL: ObstacleInput = {
  name: "small",
  about: "",
  load: () => 60,
  application: {
    name: "small",
    entry: "web",
    services: [service("web", [cpu(work(8))], { replicas: 4 })],
    routes: [{ name: "GET /", service: "web", operation: "serve", share: 1 }],
  },
  cluster: { nodes: 4, nodeKinds: [NEW, OLD] },
  minReplicas: 4,
  telemetry: { sampledRatio: 1 },
  seconds: 600,
};

async function inputsOf(
  overrides: Partial<ObstacleInput> = {},
  kind: Partial<Kind> = {},
  onInputs: (inputs: PolicyInputs, world: World) => void = () => undefined,
): Promise<readonly PolicyInputs[]> {
  const all: PolicyInputs[] = [];
  await run({
    obstacle: obstacleOf({ ...obstacle({ ...SMALL, ...overrides }), warmUpSeconds: 0 }),
    contender: {
      name: "ours",
      about: "",
      ...UNTUNED,
      start: (setting) =>
        startOurs(setting, {
          choice: "auto",
          ...kind,
          onInputs: (inputs) => {
            all.push(inputs);
            onInputs(inputs, setting.world);
          },
        }),
    },
    actuators: "replicas",
    seed: 7,
  });
  return all;
}

describe("nodes of two speeds in the simulator", () => {
  it("are measured from the windows alone: the true factor lies in the interval, and is counted", async () => {
    const last = (await inputsOf()).at(-1)!;
    const speeds = last.state.cost!.classSpeeds!;
    expect(speeds.reference).toBe("new.large");
    const factor = factorOf(speeds.classes[0]!.comparisons)!;
    expect(factor.isSignificant).toBe(true);
    expect(factor.low).toBeLessThan(Math.log(1 / OLD.speed));
    expect(factor.high).toBeGreaterThan(Math.log(1 / OLD.speed));
    expect(last.roomByNodeClass).toEqual({ "new.large": 31, "old.large": 31 });
  });

  it("are not looked at where that is switched off, nor where all are of one type", async () => {
    const off = await inputsOf({}, { nodeSpeeds: false });
    expect(off.at(-1)!.state.cost!.classSpeeds).toBeUndefined();
    const alike = await inputsOf({ cluster: { nodes: 4, nodeKinds: [NEW] }, seconds: 60 });
    expect(JSON.stringify(alike)).not.toContain("odeClass");
  });

  it("give a proposal before a move and what was measured beside it after: old nodes are lost, pods start on new ones", async () => {
    const placing = new Placing();
    const seen: NodeClassList[] = [];
    const lostAt = 400;
    // The last node takes no pod; with it there are still nodes of two kinds.
    const nodeKinds = [NEW, OLD, NEW, OLD, { ...OLD, preference: -9 }];
    const incidents = [1, 3].map((node) => ({ kind: "node-loss" as const, atSeconds: lostAt, node }));
    await inputsOf({ incidents, seconds: 900, cluster: { nodes: 5, nodeKinds } }, {}, (inputs, world) => {
      const { plan, state, whatIf } = decide(inputs);
      const workloads = world.workloads();
      placing.adopt({
        application: inputs.application,
        windowSet: inputs.windowSet,
        decidedAtMs: plan.plannedAtMs,
        models: whatIf,
        speeds: state.cost?.classSpeeds,
        workloads,
        classes: nodeClassesOf(workloads),
        rooms: inputs.roomByNodeClass ?? {},
      });
      seen.push(Answer.parse(placing.list()));
    });
    const before = seen[Math.floor(lostAt / 15) - 2]!;
    const [proposal] = before.placements;
    expect(proposal).toMatchObject({
      service: "web",
      nodeClass: "new.large",
      workload: "Deployment/web",
      label: "node.kubernetes.io/instance-type",
    });
    // Two of four pods at 60 %: (1 + 1 / 0.6) / 2 = 1.33 times the CPU of all on new nodes.
    expect(proposal!.cpuRatio).toBeCloseTo(0.75, 1);
    expect(proposal!.latencySeconds.then).toBeLessThan(proposal!.latencySeconds.now);
    expect(inWords(before)).toContain("web on new.large: 0.7");
    expect(inWords(before, true)).toContain("kubectl patch deployment/web -n default --type merge");
    expect(inWords(before)).not.toContain("measured since");
    const after = seen.at(-1)!;
    const { measured } = after.placements.find(({ nodeClass }) => nodeClass === "new.large")!;
    expect(measured!.windows).toBeGreaterThan(10);
    const ratio = measured!.cpuSecondsPerRequest.then / measured!.cpuSecondsPerRequest.now;
    expect(ratio / proposal!.cpuRatio).toBeGreaterThan(0.9);
    expect(ratio / proposal!.cpuRatio).toBeLessThan(1.1);
    expect(inWords(after)).toMatch(/measured since, \d+ windows: 0\.7\d times the CPU a request/);
  });
});
