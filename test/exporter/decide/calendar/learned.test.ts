import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { LearnedCalendar } from "@tradewind/core/contract/calendar.ts";
import type { Change } from "@tradewind/core/contract/change.ts";
import { ChangeQueue } from "@tradewind/exporter/decide/approval/change-queue.ts";
import { calendarsBy } from "@tradewind/exporter/decide/calendar/calendars.ts";
import { withLearned } from "@tradewind/exporter/decide/calendar/with-learned.ts";
import { Journal } from "@tradewind/exporter/keep/journal/journal.ts";
import { application } from "../approval/scene.ts";
import { planOf, wishOf } from "../../wish.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Monday, midnight. */
const START_MS = Date.UTC(2026, 5, 1);
const APPROVE = { verdict: "approve", by: "ann" } as const;

const learned = (floor = 12): LearnedCalendar => ({
  service: "search",
  calendar: {
    name: "learned-0a1b2c-workdays",
    services: ["search"],
    from: "30 8 * * 1-5",
    until: "30 10 * * 1-5",
    timeZone: "UTC",
    except: [],
    floor: { replicas: floor },
  },
  usualReplicas: 4,
  occurrences: 15,
  hits: 14,
  confidence: 0.8,
});

class Scene {
  written: Change[] = [];
  readonly queue: ChangeQueue;

  constructor(changes: readonly Change[] = []) {
    const write = async (_: unknown, written: readonly Change[]): Promise<boolean> =>
      this.written.push(...written) > 0;
    this.queue = new ChangeQueue(changes, write, () => application);
  }

  async plan(atMs: number, learnedCalendars: LearnedCalendar[] | undefined = [learned()]): Promise<string[]> {
    const named = learnedCalendars === undefined ? {} : { learnedCalendars };
    await this.queue.takeLearned({ application: "hotel", namespace: "shop", plannedAtMs: atMs, ...named });
    await this.queue.settle([], atMs);
    return this.states();
  }

  states(): string[] {
    return this.queue.list().map(({ state }) => state);
  }

  /** Floors that hold at a time. */
  floorsAt(atMs: number): (number | undefined)[] {
    const find = withLearned(
      () => application,
      (namespace, name) => this.queue.calendarsOf(namespace, name),
    );
    const plan = planOf([], { plannedAtMs: atMs });
    return calendarsBy(find)(plan, wishOf()).map(({ floorReplicas }) => floorReplicas);
  }
}

describe("a learned calendar", () => {
  it("changes nothing until a person approves it, and then is in force for as long as plans name it", async () => {
    const scene = new Scene();
    expect([await scene.plan(START_MS), await scene.plan(START_MS + 15_000)]).toEqual([
      ["awaiting"],
      ["awaiting"],
    ]);
    expect(scene.floorsAt(START_MS + 9 * HOUR_MS)).toEqual([]);
    await scene.queue.decide(scene.queue.list()[0]!.id, APPROVE, START_MS + HOUR_MS);
    expect(scene.floorsAt(START_MS + 9 * HOUR_MS)).toEqual([12]);
    expect(scene.floorsAt(START_MS + 12 * HOUR_MS)).toEqual([]);
    // Weeks later, and with another number in the plan, it is what was approved.
    expect(await scene.plan(START_MS + 50 * DAY_MS, [learned(20)])).toEqual(["approved"]);
    expect(scene.floorsAt(START_MS + 49 * DAY_MS + 9 * HOUR_MS)).toEqual([12]);
  });

  it("is withdrawn once plans have not named it for a day, and proposed again when they do", async () => {
    const scene = new Scene();
    await scene.plan(START_MS);
    await scene.queue.decide(scene.queue.list()[0]!.id, APPROVE, START_MS);
    expect(await scene.plan(START_MS + HOUR_MS, [])).toEqual(["approved"]);
    expect(await scene.plan(START_MS + 2 * HOUR_MS)).toEqual(["approved"]);
    expect(await scene.plan(START_MS + 3 * HOUR_MS, [])).toEqual(["approved"]);
    expect(await scene.plan(START_MS + 26 * HOUR_MS, [])).toEqual(["approved"]);
    expect(await scene.plan(START_MS + 27 * HOUR_MS, [])).toEqual(["withdrawn"]);
    expect(scene.floorsAt(START_MS + 33 * HOUR_MS)).toEqual([]);
    expect(await scene.plan(START_MS + 28 * HOUR_MS)).toEqual(["awaiting", "withdrawn"]);
  });

  it("stays while a predictor knows too little of the past to say", async () => {
    const scene = new Scene();
    await scene.plan(START_MS);
    await scene.queue.decide(scene.queue.list()[0]!.id, APPROVE, START_MS);
    for (const day of [1, 2, 3]) {
      await scene.queue.takeLearned({
        application: "hotel",
        namespace: "shop",
        plannedAtMs: START_MS + day * DAY_MS,
      });
      expect(scene.states()).toEqual(["approved"]);
    }
  });

  it("expires after seven days, and is proposed again after a month", async () => {
    const scene = new Scene();
    await scene.plan(START_MS);
    expect(await scene.plan(START_MS + 7 * DAY_MS)).toEqual(["expired"]);
    await expect(
      scene.queue.decide(scene.queue.list()[0]!.id, APPROVE, START_MS + 7 * DAY_MS),
    ).rejects.toThrow("expired");
    expect(await scene.plan(START_MS + 29 * DAY_MS)).toEqual(["expired"]);
    expect(await scene.plan(START_MS + 31 * DAY_MS)).toContain("awaiting");
  });

  it("is not proposed for fewer than two replicas more, nor again once it was refused, nor for a later time", async () => {
    const scene = new Scene();
    expect(await scene.plan(START_MS, [learned(5)])).toEqual([]);
    await scene.plan(START_MS);
    const { id } = scene.queue.list()[0]!;
    const later = { ...APPROVE, notBeforeMs: START_MS + HOUR_MS };
    await expect(scene.queue.decide(id, later, START_MS)).rejects.toThrow("says by itself when it holds");
    await scene.queue.decide(id, { verdict: "refuse", by: "ann" }, START_MS);
    expect(await scene.plan(START_MS + DAY_MS)).toEqual(["refused"]);
    expect(scene.floorsAt(START_MS + 9 * HOUR_MS)).toEqual([]);
  });

  it("outlives a restart of the scaler and the days for which other changes are kept", async () => {
    const path = await mkdtemp(join(tmpdir(), "tradewind-learned-"));
    const journal = new Journal(path);
    onTestFinished(async () => {
      journal.close();
      await rm(path, { recursive: true });
    });
    const scene = new Scene();
    await scene.plan(START_MS);
    await scene.queue.decide(scene.queue.list()[0]!.id, APPROVE, START_MS);
    const event = { kind: "change" as const, application: "hotel", namespace: "shop", service: "geo" };
    journal.append([], START_MS, scene.written);
    const more = { ...event, atMs: START_MS, change: "x", state: "awaiting" as const };
    journal.append([{ ...more, resource: "cpu", from: 1, to: 2 }], START_MS + 90 * DAY_MS);
    const after = new Scene(journal.changes().things);
    expect(after.states()).toEqual(["approved"]);
    expect(after.floorsAt(START_MS + 91 * DAY_MS + 9 * HOUR_MS)).toEqual([12]);
  });
});
