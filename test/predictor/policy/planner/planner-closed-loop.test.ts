import { describe, expect, it } from "vitest";
import { replay } from "@tradewind/predictor/policy/replay.ts";
import { shop, SHOP, simulate, total } from "../simulated-application.ts";
import type { Conditions, SimulatedWindow, SimulationOptions } from "../simulated-application.ts";

const SURGE = { start: 120, end: 420 };
const surge = (at: number): Conditions => ({
  requestsPerSecond: at < SURGE.start || at >= SURGE.end ? 40 : 150,
});

/** Containers whose CPU moves by 0.05 cores and whose memory moves by 32 MB. */
const SIZES = {
  resize: "limits",
  services: SHOP.map(({ name }) => ({
    name,
    cpu: { minCores: 0.05, maxCores: 2, stepCores: 0.05 },
    memory: { minBytes: 64e6, maxBytes: 2e9, stepBytes: 32e6 },
  })),
};

function loop(overrides: Partial<SimulationOptions> = {}): readonly SimulatedWindow[] {
  return simulate({
    services: SHOP,
    application: shop(SIZES),
    conditions: surge,
    seconds: 800,
    windowSeconds: 5,
    podStartSeconds: 8,
    seed: 1,
    choice: "plan",
    memory: { limitBytes: 256e6, usedBytes: 90e6 },
    quotaDrag: 0.5,
    ...overrides,
  });
}

const between = (run: readonly SimulatedWindow[], from: number, to: number): readonly SimulatedWindow[] =>
  run.filter(({ endSeconds }) => endSeconds > from && endSeconds <= to);
const missed = (run: readonly SimulatedWindow[]): number => run.filter(({ severity }) => severity > 1).length;
const price = (run: readonly SimulatedWindow[]): number =>
  run.reduce(
    (sum, { cpuCoreSeconds, gigabyteSeconds }) => sum + 0.031 * cpuCoreSeconds + 0.0042 * gigabyteSeconds,
    0,
  );
const sizes = ({ outcome }: SimulatedWindow): string =>
  outcome.plan.wishes
    .map(({ allocation: { replicas, cpuCores, memoryBytes } }) => `${replicas} ${cpuCores} ${memoryBytes}`)
    .join();
const changes = (run: readonly SimulatedWindow[]): number =>
  run.slice(1).filter((each, at) => sizes(each) !== sizes(run[at]!)).length;

describe.each([1, 2, 3, 4, 5])("the planner in a closed loop, seed %s", (seed) => {
  const run = loop({ seed });
  const byQueues = loop({ seed, choice: "queue" });

  it("plans from the third window on", () => {
    expect(run[1]!.outcome.plan.policy).toBe("queue");
    expect(run.slice(2).every(({ outcome }) => outcome.plan.policy === "planner-prior")).toBe(true);
  });

  it("misses the objective in the first windows of a surge, and not after", () => {
    expect(missed(between(run, SURGE.start, SURGE.start + 20))).toBeGreaterThan(0);
    expect(missed(between(run, SURGE.start + 20, 800))).toBe(0);
    expect(missed(between(run, 0, SURGE.start))).toBe(0);
  });

  it("costs less than queue balancing and misses no more", () => {
    expect(missed(run)).toBeLessThanOrEqual(missed(byQueues));
    expect(price(run)).toBeLessThan(price(byQueues));
  });

  it("settles: hardly anything moves in the last two minutes", () => {
    expect(changes(between(run, 680, 800))).toBeLessThanOrEqual(4);
  });

  it("replays bit for bit, sizes and steps included", () => {
    for (const { inputs, outcome } of between(run, 100, 250)) {
      const again = replay(JSON.parse(JSON.stringify(inputs)));
      expect(JSON.stringify(again)).toBe(JSON.stringify(outcome));
    }
  });
});

describe("the planner in a closed loop", () => {
  it("works where only replicas can move, and costs no more than queue balancing", () => {
    const run = loop({ application: shop() });
    const byQueues = loop({ application: shop(), choice: "queue" });
    expect(missed(run)).toBeLessThanOrEqual(missed(byQueues));
    expect(price(run)).toBeLessThanOrEqual(price(byQueues));
    expect(total(run.at(-1)!.replicas)).toBe(SHOP.length);
  });

  it("takes nothing back while traces or agents are silent", () => {
    const dark = (at: number): boolean => at > 430 && at <= 600;
    for (const gap of [{ tracesLost: true }, { agentsSilent: true }]) {
      const run = loop({ conditions: (at) => ({ ...surge(at), ...(dark(at) && gap) }) });
      const cpu = between(run, 440, 600).map(({ cpuCoreSeconds }) => cpuCoreSeconds);
      for (const [at, cores] of cpu.slice(1).entries()) expect(cores).toBeGreaterThanOrEqual(cpu[at]! - 1e-9);
    }
  });

  it("meets the objective again under interference that CPU use does not show", () => {
    const conditions = (at: number): Conditions => ({
      requestsPerSecond: 40,
      slowdown: at > 120 && at < 420 ? 2.2 : 1,
    });
    const run = loop({ conditions });
    expect(missed(between(run, 120, 140))).toBeGreaterThan(0);
    expect(missed(between(run, 200, 800)) / 120).toBeLessThan(0.05);
  });

  it("follows a slow wave with noise without many misses, cheaper than queue balancing", () => {
    const conditions = (at: number): Conditions => ({
      requestsPerSecond: 60 + 40 * Math.sin((2 * Math.PI * at) / 600),
    });
    const options = { conditions, seconds: 2_400, noise: 0.1 };
    const run = loop(options);
    expect(missed(run.slice(20)) / run.length).toBeLessThan(0.03);
    expect(price(run)).toBeLessThan(price(loop({ ...options, choice: "queue" })));
  });
});
