import { describe, expect, it } from "vitest";
import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { STUDENT_PARAMETERS } from "@tradewind/core/contract/students.ts";
import { decideWish } from "../decide-wish.ts";
import { bookEntry } from "@tradewind/exporter/keep/book-entry.ts";
import type { BookEntry } from "@tradewind/exporter/keep/book-entry.ts";
import type { ServiceReading } from "@tradewind/core/students/reading.ts";
import { knownOf, SilentPlans } from "@tradewind/exporter/silence/silent-plans.ts";
import { AT, Student } from "@tradewind/core/students/student.ts";
import { readWish } from "@tradewind/exporter/plans/read-plan.ts";
import { NO_LIMITS, wishOf } from "../wish.ts";
import { SilenceScene } from "./silence-scene.ts";

const RULES = {
  exporterStartedAtMs: 0,
  staleAfterSeconds: 300,
  restartGraceSeconds: 0,
  limitsOf: () => ({ ...NO_LIMITS, maxReplicas: 60, growRatio: 3, growReplicas: 4 }),
};

/** A planner's decision of second 100: four replicas of half a core for 20 requests/s of 50 ms CPU each, so 50 % use. */
function plannedEntry(mode: "act" | "observe" = "act", evidence: Record<string, number> = {}): BookEntry {
  const wish = wishOf({
    allocation: { replicas: 4 },
    evidence: { cpuSecondsPerRequest: 0.05, requestsPerSecond: 20, cpuPodCapacityCores: 0.5, ...evidence },
    inputs: { windowHash: "0123456789abcdef", windowEndMs: 95_000 },
    observed: { replicasReady: 4, complete: true, memoryBytes: 256e6 },
    workloads: [{ name: "search" }],
  });
  return entryOf(wish, 100_000, mode);
}

function entryOf(wish: ReturnType<typeof wishOf>, nowMs: number, mode: "act" | "observe" = "act"): BookEntry {
  const plan = { application: "hotel", sequence: nowMs, predictorStartedAtMs: 0, plannedAtMs: nowMs, mode };
  const decision = decideWish(wish, plan, { exporterStartedAtMs: 0 }, RULES);
  if (!("record" in decision)) throw new Error("refused");
  return bookEntry(decision.record, nowMs);
}

const reading = (atMs: number, cpuCores: number, throttledRatio = 0): ServiceReading => ({
  atMs,
  pods: 4,
  cpuCores,
  throttledRatio,
  cpuLimitCores: 0.5,
  memoryBytes: 100e6,
  memoryLimitBytes: 256e6,
});

/** A student that always does the same. */
function alwaysReplicas(action: number): Student {
  const p = new Float64Array(STUDENT_PARAMETERS);
  p[AT.lastBias + 2] = Math.atanh(action);
  return new Student(p);
}

function silent(read: ServiceReading | undefined, student?: Student) {
  const inForce = { id: "" };
  const plans = new SilentPlans({
    inForce: () => inForce.id,
    reading: () => read,
    student: () => student && { student, modelHash: "0123456789abcdef" },
  });
  return (entry: BookEntry, nowMs: number) => {
    inForce.id = entry.recommendation.decisionId;
    return [...plans.plans([...knownOf([entry])], () => nowMs - 37_500, nowMs)].flatMap(({ plan }) =>
      [...plan.wishes].map((value) => {
        const wish = readWish(value);
        if ("rejected" in wish) throw new Error(wish.rejected.reason);
        return wish;
      }),
    );
  };
}

const recordOf = ({ json }: BookEntry): DecisionRecord => JSON.parse(json) as DecisionRecord;

describe("a scaler without plans", () => {
  it("decides nothing before the last plan is overdue, and nothing for an application that is only observed", () => {
    const look = silent(reading(120_000, 2, 1));
    expect(look(plannedEntry(), 137_000)).toEqual([]);
    expect(look(plannedEntry("observe"), 138_000)).toEqual([]);
    expect(look(plannedEntry(), 138_000)).toHaveLength(1);
  });

  it("adds what the CPU in use needs where it has no student: 4 full replicas need 5 that use 90 %", () => {
    const [wish] = silent(reading(140_000, 2, 1))(plannedEntry(), 140_000);
    // 2 / (0.5 · 0.9) = 4.4
    expect(wish).toMatchObject({ allocation: { replicas: 5 }, policy: "reactive" });
    expect(wish?.evidence).toMatchObject({ needReplicas: 5, memoryPeakBytes: 100e6 });
    expect(wish?.reasons).toEqual([
      { code: "predictor-silent", silentSeconds: 40 },
      { code: "cpu-demand", cpuRatio: 1, targetRatio: 0.9 },
      { code: "replicas", fromReplicas: 4, toReplicas: 5 },
    ]);
  });

  it("carries the highest memory peak of the last plan on, which approvals of memory count as need", () => {
    for (const [peak, after] of [
      [150e6, 150e6],
      [80e6, 100e6],
    ] as const) {
      const entry = plannedEntry("act", { memoryPeakBytes: peak });
      const [wish] = silent(reading(140_000, 2, 1))(entry, 140_000);
      expect(wish?.evidence["memoryPeakBytes"]).toBe(after);
    }
  });

  it("lets a student add, and names it with its five inputs", () => {
    const [wish] = silent(reading(140_000, 1.75), alwaysReplicas(0.75))(plannedEntry(), 140_000);
    expect(wish).toMatchObject({
      // It asks for 6; 1.75 / (0.5 · 0.85) = 4.1.
      allocation: { replicas: 5 },
      policy: "students",
      inputs: { modelHash: "0123456789abcdef", windowEndMs: 140_000 },
      observed: { replicasReady: 4 },
      workloads: [{ name: "search" }],
    });
    const { evidence } = wish!;
    expect(evidence["cpuInput"]).toBeCloseTo(1.75 / (4 * 0.5));
    expect(evidence["memoryInput"]).toBeCloseTo(100 / 256);
    expect(evidence["replicaInput"]).toBe(1);
    expect(evidence["loadInput"]).toBeCloseTo(1.75);
    // Three quarters more in the 45 s since the window's end are five quarters more again in 75 s.
    expect(evidence["forecastInput"]).toBeCloseTo(1.75 + (0.75 / 45) * 75);
  });

  it("removes what students added, one at a time, and never what was planned", () => {
    const full = { ...reading(140_000, 3), pods: 6 };
    const [grown] = silent(full, alwaysReplicas(0.75))(plannedEntry(), 140_000);
    expect(grown?.allocation.replicas).toBe(7);
    let entry = entryOf(grown!, 140_000);
    const seen: number[] = [];
    for (let nowMs = 145_000; nowMs < 200_000; nowMs += 5_000) {
      const [wish] = silent(reading(nowMs, 1), alwaysReplicas(-0.9))(entry, nowMs);
      if (wish !== undefined) entry = entryOf(wish, nowMs);
      seen.push(entry.final.replicas);
    }
    expect(seen).toEqual([6, 5, 4, 4, 4, 4, 4, 4, 4, 4, 4]);
    expect(recordOf(entry).wish.evidence["plannedReplicas"]).toBe(4);
  });

  it("adds no more than the guard lets one plan add, whatever the student asks for and for however long", () => {
    let entry = plannedEntry();
    for (let nowMs = 140_000; nowMs < 400_000; nowMs += 5_000) {
      const full = { ...reading(nowMs, 20), pods: 40 };
      const [wish] = silent(full, alwaysReplicas(0.99))(entry, nowMs);
      if (wish !== undefined) entry = entryOf(wish, nowMs);
    }
    expect(entry.final.replicas).toBe(3 * 4 + 4);
  });

  it("holds where readings are missing or older than 30 s", () => {
    expect(silent(undefined, alwaysReplicas(0.9))(plannedEntry(), 140_000)).toEqual([]);
    expect(silent(reading(109_000, 2), alwaysReplicas(0.9))(plannedEntry(), 140_000)).toEqual([]);
  });

  it("lets CPU demand decide where one of the five inputs is missing", () => {
    const { memoryBytes: _, ...without } = reading(140_000, 2);
    const [wish] = silent(without, alwaysReplicas(0.9))(plannedEntry(), 140_000);
    expect(wish).toMatchObject({ policy: "reactive", allocation: { replicas: 5 } });
  });

  it("gives way to a decision that was made meanwhile", () => {
    const plans = new SilentPlans({
      inForce: () => "another",
      reading: () => reading(140_000, 2),
      student: () => undefined,
    });
    const [made] = plans.plans([...knownOf([plannedEntry()])], () => 102_500, 140_000);
    expect([...(made?.plan.wishes ?? [])]).toEqual([]);
  });
});

describe("the guard in a silence", () => {
  /** CPU that 9 replicas use up to 90 %. */
  const OF_NINE = 9 * 0.45;
  const codes = ({ entry }: SilenceScene) => entry.recommendation.reasons?.map(({ code }) => code);

  it("lets replicas that CPU demand needs come where larger changes wait for a person", async () => {
    const scene = new SilenceScene({ approval: {} });
    await scene.plan();
    expect(await scene.silence(4, OF_NINE)).toBe(9);
    expect(scene.queue.list()).toEqual([]);
  });

  it("holds the replicas that a student adds beyond the need of CPU until a person approves them", async () => {
    const scene = new SilenceScene({ approval: { replicasRatio: 0.2 }, student: alwaysReplicas(0.75) });
    await scene.plan();
    // It asks for 6; 1.8 / (0.5 · 0.85) = 4.2, and 4 pods are enough at 90 %.
    expect(await scene.silence(4, 1.8)).toBe(4);
    expect(codes(scene)).toContain("approval-awaited");
  });

  it("goes above a soft ceiling of a calendar as far as CPU demand needs, and not above a hard one", async () => {
    const at = (soft: boolean) => ({ calendar: "day", ceilingReplicas: 4, soft, fromMs: 0, untilMs: 2e12 });
    for (const [soft, replicas] of [
      [true, 9],
      [false, 4],
    ] as const) {
      const scene = new SilenceScene({ calendars: [at(soft)] });
      await scene.plan();
      expect(await scene.silence(4, OF_NINE)).toBe(replicas);
    }
  });

  it("takes away no pods that the PodDisruptionBudget of the last plan keeps", async () => {
    for (const [allowed, replicas] of [
      [0, 7],
      [1, 6],
    ] as const) {
      let action = 0.75;
      const student = new Student(new Float64Array(STUDENT_PARAMETERS));
      student.act = () => ({ cpu: 0, memory: 0, replicas: action });
      const scene = new SilenceScene({ student });
      await scene.plan({ disruptions: [{ service: "search", budget: "b", allowed }] });
      expect(await scene.silence(6, 3)).toBe(7);
      action = -0.9;
      expect(await scene.silence(7, 1)).toBe(replicas);
      expect(await scene.silence(replicas, 1)).toBe(Math.max(4, replicas - allowed));
    }
  });
});

describe("a plan that comes after a silence", () => {
  async function grown() {
    const scene = new SilenceScene();
    await scene.plan();
    const plannedMs = scene.nowMs;
    await scene.silence(4, 2.25);
    expect(await scene.silence(4, 2.25)).toBe(5);
    return { scene, plannedMs };
  }

  it("changes nothing where it is the one from before the silence", async () => {
    const { plannedMs, scene } = await grown();
    const { json } = scene.entry;
    for (let times = 0; times < 2; times += 1) {
      await scene.plan({}, plannedMs);
      expect(scene.entry.json).toBe(json);
    }
  });

  it("is decided on once what the silence decided has expired", async () => {
    const { plannedMs, scene } = await grown();
    scene.wait(300_001);
    await scene.plan({}, plannedMs);
    expect(scene.entry.recommendation.policy).toBe("queue");
  });

  it("is taken where it is a newer one, of whichever predictor, though it was made before the last decision of the silence", async () => {
    for (const header of [{}, { predictorStartedAtMs: 1 }]) {
      const { plannedMs, scene } = await grown();
      const isOther = "predictorStartedAtMs" in header;
      await scene.plan({ sequence: 2, ...header }, isOther ? plannedMs : plannedMs + 16_000);
      expect(scene.entry.recommendation).toMatchObject({ policy: "queue", replicas: 4 });
    }
  });
});
