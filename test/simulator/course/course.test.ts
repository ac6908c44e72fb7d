import { describe, expect, it } from "vitest";
import { CONTENDERS } from "@tradewind/simulator/contenders/contenders.ts";
import { run } from "@tradewind/simulator/contenders/run.ts";
import { COURSE } from "@tradewind/simulator/course/course.ts";
import type { ObstacleModel } from "@tradewind/simulator/course/obstacle.ts";
import { FLOOR_MS } from "@tradewind/simulator/course/obstacles/tight-objective.ts";
import { obstacleOf } from "@tradewind/simulator/course/plant.ts";
import { SimulatedWorld } from "@tradewind/simulator/simulated-world.ts";

const named = (name: string): ObstacleModel => COURSE.find((each) => each.name === name)!;
const contender = (name: string) => CONTENDERS.find((each) => each.name === name)!;
/** The same obstacle, over after so many seconds, without warm-up and with a share of its load. */
const shortened = (obstacle: ObstacleModel, seconds: number, share = 1): ObstacleModel => ({
  ...obstacle,
  warmUpSeconds: 0,
  model: { ...obstacle.model, seconds, load: (at) => share * obstacle.model.load(at) },
});

describe("the course", () => {
  it("has a name and a sentence for every obstacle, no name twice", () => {
    expect(new Set(COURSE.map(({ name }) => name)).size).toBe(COURSE.length);
    for (const { about, name } of COURSE) {
      expect(name).toMatch(/^[a-z0-9-]+$/);
      expect(about).toMatch(/^[A-Z].{20,}\.$/);
    }
  });

  it("has all that happens within the run and after the warm-up", () => {
    for (const { faults, model, name, processDown = [], warmUpSeconds } of COURSE) {
      const times = [
        ...(model.incidents ?? []).map(({ atSeconds }) => atSeconds),
        ...[...Object.values(faults).flat(), ...processDown].flatMap(({ endSeconds, startSeconds }) => [
          startSeconds,
          endSeconds,
        ]),
      ];
      const outside = times.filter((time) => time < warmUpSeconds || time > model.seconds);
      expect({ name, outside }).toEqual({ name, outside: [] });
    }
  });

  it("has tight objectives around the p95 that plenty of pods reach", () => {
    const { plant } = obstacleOf(shortened(named("steady"), 120));
    const world = plant.create(5);
    for (const service of world.services) world.setReplicas(service, 4 * world.replicas(service));
    world.advanceTo(plant.startMs + 120_000);
    const p95 = 1e3 * world.account().routes[0]!.latency.quantileSeconds(0.95);
    expect(p95 / FLOOR_MS).toBeGreaterThan(0.95);
    expect(p95 / FLOOR_MS).toBeLessThan(1.05);
  });
});

describe.each(COURSE.map((obstacle) => [obstacle.name, obstacle] as const))("%s", (_name, obstacle) => {
  it("conserves work and requests while pods come and go", () => {
    const { model } = obstacle;
    const short = { ...model, seconds: 24, incidents: [] };
    const { plant } = obstacleOf(obstacle);
    const { application, faults, windowSeconds } = plant;
    const world = new SimulatedWorld({
      model: short,
      application,
      faults,
      windowSeconds,
      seed: 11,
      auditEvery: 5_000,
    });
    world.advanceTo(model.startMs + 8_000);
    for (const service of world.services) world.setReplicas(service, world.replicas(service) + 1);
    world.advanceTo(model.startMs + 16_000);
    for (const service of world.services) world.setReplicas(service, 1);
    world.advanceTo(model.startMs + 24_000);
    const account = world.account();
    expect(account.usedCoreSeconds).toBeLessThanOrEqual(account.limitCoreSeconds);
    for (const { failed, over, requests } of account.routes) {
      expect(failed).toBeLessThanOrEqual(over);
      expect(over).toBeLessThanOrEqual(requests);
    }
    for (const service of world.services) {
      const pods = world.pods(service).filter(({ phase }) => phase !== "draining");
      expect(pods).toHaveLength(1);
    }
  });
});

describe("a run", () => {
  const once = async (policy: string, obstacle: ObstacleModel, seed: number) =>
    run({ obstacle: obstacleOf(obstacle), contender: contender(policy), actuators: "replicas", seed });

  it("gives the same result for the same seed and another one for another", async () => {
    const obstacle = shortened(named("wave"), 120, 0.5);
    const [one, same, other] = [
      await once("tradewind-auto", obstacle, 3),
      await once("tradewind-auto", obstacle, 3),
      await once("tradewind-auto", obstacle, 4),
    ];
    expect(same).toEqual(one);
    expect(other.requests).not.toBe(one.requests);
  });

  it("has the same users whoever decides", async () => {
    const obstacle = shortened(named("steady"), 120, 0.5);
    const requests = await Promise.all(
      ["static", "hpa-cpu", "keda-requests", "tradewind-queue"].map(
        async (policy) => (await once(policy, obstacle, 3)).requests,
      ),
    );
    // Those still under way at the end do not count yet.
    expect(Math.max(...requests) - Math.min(...requests)).toBeLessThan(30);
  });

  it.each(CONTENDERS.filter(({ name }) => !name.endsWith("-trained")).map(({ name }) => name))(
    "keeps every service within its bounds under %s",
    async (policy) => {
      const crowd = named("flash-crowd");
      const ahead = { ...crowd, model: { ...crowd.model, load: (at: number) => crowd.model.load(at + 440) } };
      const obstacle = obstacleOf(shortened(ahead, 105, 0.5));
      let least = Infinity;
      let most = 0;
      const actuators =
        (contender(policy).supports?.("replicas") ?? true) ? "replicas" : "replicas+cpu+memory";
      await run({
        obstacle,
        contender: contender(policy),
        actuators,
        seed: 7,
        onWindow: (world) => {
          for (const service of world.services) {
            least = Math.min(least, world.replicas(service));
            most = Math.max(most, world.replicas(service));
          }
        },
      });
      expect(least).toBeGreaterThanOrEqual(1);
      expect(most).toBeLessThanOrEqual(60);
    },
  );
});
