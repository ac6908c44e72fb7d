import { describe, expect, it } from "vitest";
import { shop, SHOP, simulate, total } from "./simulated-application.ts";
import type { Conditions, SimulatedWindow, SimulationOptions } from "./simulated-application.ts";

const SURGE_START = 120;
const SURGE_END = 420;
const surge = (at: number): Conditions => ({
  requestsPerSecond: at < SURGE_START || at >= SURGE_END ? 40 : 150,
});

function loop(overrides: Partial<SimulationOptions> = {}): readonly SimulatedWindow[] {
  return simulate({
    services: SHOP,
    application: shop(),
    conditions: surge,
    seconds: 800,
    windowSeconds: 5,
    podStartSeconds: 8,
    seed: 1,
    choice: "queue",
    ...overrides,
  });
}

const between = (run: readonly SimulatedWindow[], from: number, to: number): readonly SimulatedWindow[] =>
  run.filter(({ endSeconds }) => endSeconds > from && endSeconds <= to);
const missed = (run: readonly SimulatedWindow[]): number => run.filter(({ severity }) => severity > 1).length;
const wished = ({ outcome }: SimulatedWindow): number =>
  outcome.plan.wishes.reduce((sum, { allocation }) => sum + allocation.replicas, 0);
/** Times that the number of wished pods turned from rising to falling or back. */
function turns(run: readonly SimulatedWindow[]): number {
  const steps = run.slice(1).map((one, index) => Math.sign(wished(one) - wished(run[index]!)));
  const moves = steps.filter((step) => step !== 0);
  return moves.slice(1).filter((step, index) => step !== moves[index]).length;
}

describe.each([1, 2, 3, 4, 5])("queue balancing in a closed loop, seed %s", (seed) => {
  const run = loop({ seed });

  it("leaves a calm application alone", () => {
    expect(between(run, 0, SURGE_START).every((one) => wished(one) === SHOP.length)).toBe(true);
  });

  it("wishes more in the first window of a surge", () => {
    expect(wished(between(run, SURGE_START, SURGE_START + 5)[0]!)).toBeGreaterThan(SHOP.length);
  });

  it("misses the objective at first, and meets it again within 40 s, for the rest of the surge", () => {
    expect(missed(between(run, SURGE_START, SURGE_START + 10))).toBe(2);
    expect(missed(between(run, SURGE_START + 40, SURGE_END))).toBe(0);
  });

  it("does not oscillate: up once, then down to what it needs, then still", () => {
    expect(turns(between(run, SURGE_START, SURGE_END))).toBeLessThanOrEqual(1);
    const settled = between(run, SURGE_END - 60, SURGE_END).map(wished);
    expect(Math.max(...settled) - Math.min(...settled)).toBe(0);
  });

  it("gives the pods back after the surge, without a miss", () => {
    const after = between(run, SURGE_END, 800);
    expect(missed(after)).toBe(0);
    expect(total(after.at(-1)!.replicas)).toBe(SHOP.length);
    expect(turns(after)).toBe(0);
  });
});

describe("queue balancing in a closed loop", () => {
  it("violates far less than a static allocation", () => {
    const still = missed(loop({ choice: "static" }));
    expect(missed(loop())).toBeLessThan(0.2 * still);
  });

  it("meets the objective again under interference, which CPU use does not show", () => {
    const conditions = (at: number): Conditions => ({
      requestsPerSecond: 40,
      slowdown: at > 120 && at < 420 ? 2.2 : 1,
    });
    const run = loop({ conditions });
    expect(missed(between(run, 120, 140))).toBeGreaterThan(0);
    expect(missed(between(run, 190, 420))).toBe(0);
    expect(total(run.at(-1)!.replicas)).toBe(SHOP.length);
  });

  it("finds its way out of overload in which no request ends in time to leave a trace", () => {
    const run = loop({ conditions: (at) => ({ ...surge(at), timeoutSeconds: 1 }) });
    expect(between(run, 120, 130).map(({ outcome }) => outcome.plan.policy)).toEqual([
      "reactive",
      "reactive",
    ]);
    expect(missed(between(run, 170, SURGE_END))).toBe(0);
  });

  it("works without agents, on latency alone, and then keeps its pods", () => {
    const run = loop({ conditions: (at) => ({ ...surge(at), agentsSilent: true }) });
    expect(missed(between(run, 220, 800))).toBe(0);
    const counts = run.map(wished);
    expect(counts.every((count, index) => index === 0 || count >= counts[index - 1]!)).toBe(true);
  });

  it("never removes a pod while traces and agents are both silent", () => {
    const dark = (at: number): boolean => at > 200 && at <= 500;
    const conditions = (at: number): Conditions => ({
      ...surge(at),
      agentsSilent: dark(at),
      tracesLost: dark(at),
    });
    const counts = between(loop({ conditions }), 200, 500).map(wished);
    expect(new Set(counts).size).toBe(1);
  });

  it("settles with windows of 15 s and pods that take two of them to start", () => {
    const run = loop({
      windowSeconds: 15,
      podStartSeconds: 30,
      seconds: 1_500,
      conditions: (at) => ({ requestsPerSecond: at < 120 || at > 900 ? 40 : 150 }),
    });
    expect(missed(between(run, 300, 1_500))).toBe(0);
    expect(turns(between(run, 120, 900))).toBeLessThanOrEqual(1);
    expect(total(run.at(-1)!.replicas)).toBeLessThanOrEqual(SHOP.length + 2);
  });

  it("comes down behind a platform that holds replicas for five minutes, as the HPA does", () => {
    const run = loop({ stabilisationSeconds: 300, seconds: 3_000 });
    expect(missed(between(run, 180, 3_000))).toBe(0);
    expect(turns(between(run, SURGE_END, 3_000))).toBeLessThanOrEqual(1);
    expect(total(run.at(-1)!.replicas)).toBeLessThanOrEqual(SHOP.length + 1);
  });

  it("does not run away when the platform cannot run more pods", () => {
    const run = loop({ platformLimit: 1, seconds: 1_500 });
    expect(Math.max(...run.map(wished))).toBeLessThanOrEqual(4 * SHOP.length);
    expect(wished(run.at(-1)!)).toBe(SHOP.length);
  });

  it("moves a budget to the congested services and keeps to it", () => {
    const run = loop({ application: shop({ budget: { pods: 14 } }) });
    for (const one of run) expect(wished(one)).toBe(14);
    expect(missed(between(run, 200, 800))).toBe(0);
  });

  it("follows a slow wave with noise without a miss and without wild swings", () => {
    const conditions = (at: number): Conditions => ({
      requestsPerSecond: 60 + 40 * Math.sin((2 * Math.PI * at) / 600),
    });
    const run = loop({ conditions, seconds: 2_400, noise: 0.1 });
    expect(missed(run.slice(20)) / run.length).toBeLessThan(0.02);
    expect(turns(run)).toBeLessThanOrEqual(24);
  });
});
