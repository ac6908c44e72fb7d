import { Students, STUDENT_PARAMETERS, studentParameters } from "@tradewind/core/contract/students.ts";
import type { Wish } from "@tradewind/core/contract/plan.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Pair } from "@tradewind/core/students/train-student.ts";
import { agreementOf, trainStudent } from "@tradewind/core/students/train-student.ts";
import { learnStudent } from "@tradewind/predictor/learn/students/learn-student.ts";
import type { StudentJob, StudentOutcome } from "@tradewind/predictor/learn/students/learn-student.ts";
import { LessonBook } from "@tradewind/predictor/learn/students/lesson-book.ts";
import { LiveStudents } from "@tradewind/predictor/learn/students/live-students.ts";
import { SHIPPED_HASH } from "@tradewind/predictor/learn/students/shipped.ts";
import { MemoryStore } from "@tradewind/simulator/contenders/ours/memory-store.ts";
import { describe, expect, it } from "vitest";
import { wishOf } from "../../../exporter/wish.ts";

/** The n-th lesson of one rule: 0.9 above 80 % CPU, else nothing. */
function lesson(rng: () => number, reversed = false): Pair {
  const inputs = Array.from({ length: 5 }, () => rng());
  const acts = (inputs[0] ?? 0) > 0.8;
  return { inputs, actions: [0, 0, acts === reversed ? 0 : 0.9] };
}

const lessons = (count: number, seed: number, reversed = false): Pair[] => {
  const rng = seededRng(seed);
  return Array.from({ length: count }, () => lesson(rng, reversed));
};

const STILL = new Float64Array(STUDENT_PARAMETERS);

describe("a student that goes on learning", () => {
  it("is taken where it agrees more on the newest lessons, which it did not learn from", () => {
    const outcome = learnStudent(
      { service: "cart", lessons: lessons(1_000, 1), shipped: STILL, seed: 1 },
      seededRng(1),
    );
    if (outcome.kind === "failed") throw new Error(outcome.why);
    expect(outcome.isNew).toBe(true);
    const shipped = agreementOf(STILL, lessons(1_000, 1).slice(800));
    expect(outcome.heldBack.pairs).toBe(200);
    expect(outcome.heldBack.agreement).toBeGreaterThanOrEqual(shipped.agreement);
  });

  it("is not taken where the newest lessons are of the opposite rule: then the shipped one stays", () => {
    const rule = trainStudent(lessons(800, 2, true), { epochs: 60, rng: seededRng(2) });
    const mixed = [...lessons(800, 3), ...lessons(200, 4, true)];
    const outcome = learnStudent({ service: "cart", lessons: mixed, shipped: rule, seed: 1 }, seededRng(1));
    expect(outcome).toMatchObject({ kind: "taught", isNew: false });
    expect(outcome).not.toHaveProperty("own");
  });

  it("comes out equal from equal lessons", () => {
    const job = { service: "cart", lessons: lessons(300, 5), shipped: STILL, seed: 7 };
    expect(learnStudent(job, seededRng(job.seed))).toEqual(learnStudent(job, seededRng(job.seed)));
  });
});

describe("the lessons kept of a service", () => {
  it("are bounded, the oldest first, and those in which the planner acts stay longer", () => {
    const book = new LessonBook();
    for (let i = 0; i < 5_000; i += 1) {
      const acts = i % 20 === 0;
      book.add({ inputs: [i, 0, 0, 0, 0], actions: [0, 0, acts ? 0.9 : 0] });
    }
    const kept = book.all();
    const at = kept.map(({ inputs: [i = 0] }) => i);
    expect(at).toEqual([...at].sort((a, b) => a - b));
    expect(kept.filter(({ actions }) => actions[2] > 0.5)).toHaveLength(250);
    expect(kept.filter(({ actions }) => actions[2] === 0)).toHaveLength(1_500);
    expect(book.added).toBe(5_000);
    expect(at[0]).toBe(0);
  });
});

interface Made {
  readonly students: LiveStudents;
  readonly store: MemoryStore;
  readonly causes: string[];
  readonly jobs: StudentJob[];
  /** One window; the load goes up and down, the planner follows. */
  window(at: number, route?: string): Promise<void>;
}

function made(store = new MemoryStore(), outcome?: StudentOutcome): Made {
  const causes: string[] = [];
  const jobs: StudentJob[] = [];
  const students = new LiveStudents({
    namespace: "default",
    name: "shop",
    trainer: {
      trainStudent: async (job) => {
        jobs.push(job);
        return Promise.resolve(outcome ?? taughtTo(job));
      },
    },
    store,
    metrics: { students: () => undefined, studentTaught: (cause) => causes.push(cause) },
    log: createLog("test", "silent"),
  });
  return {
    students,
    store,
    causes,
    jobs,
    window: async (at, route = "GET /hotels") => {
      const { set, wish } = windowAt(at, route);
      students.observe([wish], set);
      await students.settled();
    },
  };
}

/** A student of its own that is no other's, without the cost of a training. */
function taughtTo({ shipped }: StudentJob): StudentOutcome {
  const own = shipped.map((value, i) => (i === 0 ? Math.fround(value + 1) : value));
  const heldBack = { pairs: 1, mse: 0, agreement: 1, agreementWhenActing: 1 };
  return { kind: "taught", own, isNew: true, heldBack };
}

function windowAt(at: number, route: string): { readonly set: WindowSet; readonly wish: Wish } {
  const startMs = 15_000 * at;
  const endMs = startMs + 15_000;
  const replicas = 2 + (Math.floor(at / 10) % 3);
  const usedCores = 0.6 * replicas;
  const latency = { count: 150, meanSeconds: 0.1, p50Seconds: 0.1, p95Seconds: 0.1, p99Seconds: 0.1 };
  const containers = Array.from({ length: replicas }, (_, i) => ({
    id: `cart-${i}`,
    cpuLimitCores: 1,
    cpuUsageCores: 0.6,
    memoryLimitBytes: 1e9,
    memoryWorkingSetBytes: 5e8,
  }));
  const set: WindowSet = {
    startMs,
    endMs,
    windows: [{ namespace: "default", service: "cart", startMs, endMs, callees: [], containers }],
    flows: [
      {
        flow: route,
        entryService: "cart",
        requestsPerSecond: 10,
        errorRatio: 0,
        latency,
        services: ["cart"],
      },
    ],
  };
  const wish = wishOf({
    service: "cart",
    allocation: { replicas },
    evidence: { cpuSecondsPerRequest: 0.01, requestsPerSecond: 100 * usedCores, cpuPodCapacityCores: 1 },
    observed: { memoryBytes: 1e9, complete: true },
  });
  return { set, wish };
}

describe("students of a deployment", () => {
  it("are those of the release until enough was learnt; then plans name others, which read back from their file", async () => {
    const { causes, jobs, students, window } = made();
    expect(students.hash).toBe(SHIPPED_HASH);
    for (let at = 0; at < 80; at += 1) await window(at);
    expect(causes).toEqual(["first"]);
    expect(jobs[0]?.lessons.length).toBeGreaterThanOrEqual(200);
    expect(students.hash).not.toBe(SHIPPED_HASH);
    const file = Students.parse(JSON.parse(students.text(students.hash) ?? ""));
    expect(contentHash(file)).toBe(students.hash);
    expect(studentParameters(file.services?.["cart"] ?? "")).toEqual(students.parameters("cart"));
  });

  it("are back after a restart", async () => {
    const before = made();
    for (let at = 0; at < 80; at += 1) await before.window(at);
    const after = made(before.store);
    expect(after.students.hash).toBe(before.students.hash);
    expect(after.students.parameters("cart")).toEqual(before.students.parameters("cart"));
  });

  it("are still there after a first window that says nothing of their services", async () => {
    const before = made();
    for (let at = 0; at < 80; at += 1) await before.window(at);
    const { students } = made(before.store);
    const { set, wish } = windowAt(1_000, "GET /hotels");
    students.observe([wish], { ...set, windows: [] });
    await students.settled();
    expect(students.parameters("cart")).toEqual(before.students.parameters("cart"));
  });

  it("are forgotten of a service that no plan names for more than an hour", async () => {
    const { students, window } = made();
    for (let at = 0; at < 80; at += 1) await window(at);
    const own = students.parameters("cart");
    for (const at of [80, 325]) {
      students.observe([], { ...windowAt(at, "GET /hotels").set, windows: [] });
      await students.settled();
    }
    expect(students.parameters("cart")).not.toEqual(own);
  });

  it("give way to those of the release, by cause 'users', when who searched buys", async () => {
    const { causes, students, window } = made();
    for (let at = 0; at < 80; at += 1) await window(at);
    for (let at = 80; at < 120; at += 1) await window(at, "POST /buy");
    expect(causes).toContain("users");
    expect(students.hash).toBe(SHIPPED_HASH);
  });

  it("go on as they are where teaching fails", async () => {
    const { students, window } = made(new MemoryStore(), { kind: "failed", why: "the thread ended" });
    for (let at = 0; at < 80; at += 1) await window(at);
    expect(students.hash).toBe(SHIPPED_HASH);
  });
});
