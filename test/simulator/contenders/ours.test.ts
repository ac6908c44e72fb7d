import { describe, expect, it } from "vitest";
import type { Actuators } from "@tradewind/simulator/contenders/contender.ts";
import { CONTENDERS } from "@tradewind/simulator/contenders/contenders.ts";
import { run } from "@tradewind/simulator/contenders/run.ts";
import { obstacle } from "@tradewind/simulator/course/obstacle.ts";
import type { ObstacleInput } from "@tradewind/simulator/course/obstacle.ts";
import { obstacleOf } from "@tradewind/simulator/course/plant.ts";
import { cpu, service, work } from "@tradewind/simulator/applications/course-shop.ts";
import type { World } from "@tradewind/simulator/world.ts";

/** One service, so that a run takes little time. */
const SMALL: ObstacleInput = {
  name: "small",
  about: "",
  load: () => 20,
  application: {
    name: "small",
    entry: "web",
    services: [service("web", [cpu(work(8))], { replicas: 2 })],
    routes: [{ name: "GET /", service: "web", operation: "serve", share: 1 }],
  },
  telemetry: { sampledRatio: 1 },
  seconds: 300,
};

function ours(
  policy: string,
  input: Partial<ObstacleInput>,
  actuators: Actuators = "replicas",
  onWindow: (world: World) => void = () => undefined,
) {
  return run({
    obstacle: obstacleOf({ ...obstacle({ ...SMALL, ...input }), warmUpSeconds: 0 }),
    contender: CONTENDERS.find(({ name }) => name === policy)!,
    actuators,
    seed: 5,
    onWindow,
  });
}

describe("the result of a run", () => {
  it("leaves the warm-up out, and counts it where it says so", async () => {
    const load = (at: number): number => (at < 60 ? 200 : 5);
    const { requestsOver, requestsOverFromStart } = await run({
      obstacle: obstacleOf({ ...obstacle({ ...SMALL, load }), warmUpSeconds: 120 }),
      contender: CONTENDERS.find(({ name }) => name === "static")!,
      actuators: "replicas",
      seed: 5,
    });
    expect(requestsOver).toBeLessThan(0.05);
    expect(requestsOverFromStart).toBeGreaterThan(0.2);
  });
});

describe("Tradewind in the simulator", () => {
  it("decides once more between two windows when a surge begins, and not while load is steady", async () => {
    expect((await ours("tradewind-auto", {})).notes).toMatchObject({ surges: 0 });
    const crowd = await ours("tradewind-auto", { load: (at) => (at < 170 ? 20 : 120) });
    expect(crowd.notes!["surges"]).toBeGreaterThan(0);
  });

  it("moves sizes only where it may", async () => {
    const sizes = async (actuators: Actuators) => {
      const seen = new Set<string>();
      await ours(
        "tradewind-auto",
        { load: (at) => (at < 150 ? 30 : 140), seconds: 300 },
        actuators,
        (world) => {
          for (const pod of world.pods("web")) seen.add(`${pod.cpuRequestCores} ${pod.memoryRequestBytes}`);
        },
      );
      return seen.size;
    };
    expect(await sizes("replicas")).toBe(1);
    expect(await sizes("replicas+cpu+memory")).toBeGreaterThan(1);
  });

  it("has the levels that decided add up to one", async () => {
    const { levels } = await ours("tradewind-auto", {});
    expect(Object.values(levels!).reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 12);
  });
});

describe("Tradewind with the latency network", () => {
  it("decides by it once windows have shown what services are like, and by the curve alone where it is switched off", async () => {
    const wave: Partial<ObstacleInput> = {
      load: (at) => 20 + 15 * Math.sin((2 * Math.PI * at) / 300),
      seconds: 600,
    };
    const [with_, without] = [await ours("tradewind-auto", wave), await ours("tradewind-auto-curve", wave)];
    expect(with_.levels!["planner"]).toBeGreaterThan(0.5);
    expect(without.levels).not.toHaveProperty("planner");
    expect(with_.requests).toBeGreaterThan(0.9 * without.requests);
  }, 60_000);
});
