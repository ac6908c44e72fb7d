import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { Change } from "@tradewind/core/contract/change.ts";
import { recommendationList } from "@tradewind/exporter/decide/recommendation-list.ts";
import { ChangeQueue } from "@tradewind/exporter/decide/approval/change-queue.ts";
import { openTrail } from "@tradewind/exporter/keep/journal/journal.ts";
import { countedOn, SettledSizes } from "@tradewind/exporter/controller/sizing/settled-sizes.ts";
import { application, Killed, MINUTE_MS, Process, START_MS } from "./scene.ts";

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "tradewind-approval-"));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

function states(path: string): string[] {
  using trail = openTrail(path);
  return [...trail.rows()]
    .map(({ row }) => JSON.parse(row) as AuditEvent)
    .flatMap((event) => (event.kind === "change" ? [event.state] : []));
}

const HOTEL = { application: "hotel", namespace: "shop" } as const;
const APPROVE = { verdict: "approve", by: "ann" } as const;
const at = (minutes: number): number => START_MS + minutes * MINUTE_MS;

describe("a change that waits for a person", () => {
  it("is carried out once it is approved, and once only", async () => {
    const path = await directory();
    const process = new Process(path);
    await process.plan(30, at(0));
    expect(process.replicas).toBe(10);
    const [change] = process.queue.list();
    await process.queue.decide(change!.id, APPROVE, at(1));
    await process.plan(30, at(2));
    expect(process.replicas).toBe(30);
    await process.plan(12, at(3));
    await process.plan(30, at(4));
    expect(process.replicas).toBe(12);
    await process.end();
    expect(states(path)).toEqual(["awaiting", "approved", "executed", "awaiting"]);
  });

  it("changes nothing when it is refused, and is not proposed again while it would have stood open", async () => {
    const path = await directory();
    const process = new Process(path);
    await process.plan(30, at(0));
    await process.queue.decide(process.queue.list()[0]!.id, { verdict: "refuse", by: "ann" }, at(1));
    await process.plan(30, at(14));
    expect(process.replicas).toBe(10);
    expect(states(path)).toEqual(["awaiting", "refused"]);
    await process.plan(30, at(15));
    expect(process.replicas).toBe(10);
    await process.end();
    expect(states(path)).toEqual(["awaiting", "refused", "awaiting"]);
  });

  it("of CPU and of memory is decided on apart, and executed once the decision in force has reached it", async () => {
    const path = await directory();
    const process = new Process(path);
    const wished = { cpuCores: 1.5, memoryBytes: 100e6 };
    await process.plan(10, at(0), {}, wished);
    expect(process.final).toEqual({ replicas: 10, cpuCores: 0.5, memoryBytes: 256e6 });
    const [cpu, memory] = ["cpu", "memory"].map((name) =>
      process.queue.list().find((each) => each.kind === "size" && each.resource === name),
    );
    expect([cpu, memory]).toMatchObject([
      { from: 0.5, to: 1.5, state: "awaiting" },
      { from: 256e6, to: 100e6, state: "awaiting" },
    ]);
    await process.queue.decide(cpu!.id, APPROVE, at(1));
    await process.queue.decide(memory!.id, { verdict: "refuse", by: "ann" }, at(1));
    await process.plan(10, at(2), {}, wished);
    expect(process.final).toEqual({ replicas: 10, cpuCores: 1.5, memoryBytes: 256e6 });
    await process.end();
    expect(states(path)).toEqual(["awaiting", "awaiting", "approved", "refused", "executed"]);
  });

  it("of CPU changes nothing once it has expired, approved or not", async () => {
    const process = new Process(await directory());
    onTestFinished(() => process.end());
    const wished = { cpuCores: 1.5 };
    await process.plan(10, at(0), {}, wished);
    await process.queue.decide(process.queue.list()[0]!.id, APPROVE, at(14));
    await process.plan(10, at(15), {}, wished);
    expect(process.final?.cpuCores).toBe(0.5);
    expect(process.queue.list().map(({ state }) => state)).toEqual(["awaiting", "expired"]);
  });

  it("is what VPAs and resizes are given only once it was approved", async () => {
    const process = new Process(await directory());
    onTestFinished(() => process.end());
    const sizes = new SettledSizes();
    const given = (atMs: number) => {
      const list = recommendationList(process.recommender, { reachable: true }, process.clock);
      sizes.record(list, atMs);
      const served = list.recommendations[0]!;
      return countedOn(sizes.settled(served, [{ cpuCores: 0.5 }], atMs), served).cpuCores;
    };
    await process.plan(10, at(0), {}, { cpuCores: 1.5 });
    expect(given(at(0))).toBe(0.5);
    await process.queue.decide(process.queue.list()[0]!.id, APPROVE, at(1));
    await process.plan(10, at(2), {}, { cpuCores: 1.5 });
    expect(given(at(2))).toBe(1.5);
  });

  it("is measured from what ran before the first decision", async () => {
    const process = new Process(await directory());
    onTestFinished(() => process.end());
    await process.plan(5, at(0));
    expect(process.replicas).toBe(5);
    process.running = 5;
    await process.plan(3, at(1));
    expect(process.replicas).toBe(5);
    expect(process.queue.list()).toMatchObject([{ from: 10, to: 3, state: "awaiting" }]);
  });

  it("is measured from what was in force before a restart too", async () => {
    const path = await directory();
    const before = new Process(path);
    for (const minute of [0, 4, 8, 12, 16, 19]) await before.plan(10, at(minute));
    await before.plan(5, at(20));
    before.running = 5;
    await before.plan(5, at(21));
    await before.end();
    const after = new Process(path);
    onTestFinished(() => after.end());
    [after.nowMs, after.running] = [at(22), 5];
    await after.recommender.restore();
    await after.plan(3, at(23));
    expect(after.replicas).toBe(5);
    expect(after.queue.list()).toMatchObject([{ from: 10, to: 3, state: "awaiting" }]);
  });

  it("is proposed once, though a second plan is decided before the disk has taken what the first one proposed", async () => {
    const path = await directory();
    const process = new Process(path, undefined, 10);
    const disk = new DatabaseSync(join(path, "journal.sqlite"));
    disk.exec("BEGIN IMMEDIATE");
    await process.plan(30, at(0));
    await process.plan(30, at(1));
    expect(process.queue.list()).toMatchObject([{ proposedAtMs: at(0), state: "awaiting" }]);
    expect(states(path)).toEqual([]);
    disk.exec("COMMIT");
    disk.close();
    await process.plan(30, at(2));
    expect(process.queue.list()).toMatchObject([{ proposedAtMs: at(0), state: "awaiting" }]);
    await process.end();
    expect(states(path)).toEqual(["awaiting"]);
  });

  it("does not go as in an emergency that one plan alone has, however often it is taken", async () => {
    const process = new Process(await directory());
    onTestFinished(() => process.end());
    const late = { tailOverObjective: 3 };
    for (let times = 0; times < 3; times += 1) {
      await process.plan(30, at(0), late);
      expect(process.replicas).toBe(10);
    }
    await process.plan(30, at(1), late);
    expect(process.replicas).toBe(30);
  });

  it("that was approved is carried out by a plan that is taken twice, and stays so", async () => {
    const path = await directory();
    const process = new Process(path);
    await process.plan(30, at(0));
    await process.queue.decide(process.queue.list()[0]!.id, APPROVE, at(1));
    for (let times = 0; times < 3; times += 1) {
      await process.plan(30, at(2));
      expect(process.replicas).toBe(30);
    }
    await process.end();
    expect(states(path)).toEqual(["awaiting", "approved", "executed"]);
  });

  it("is measured from what runs, not from what was recommended while nothing was carried out", async () => {
    const process = new Process(await directory());
    onTestFinished(() => process.end());
    for (const minute of [0, 1, 2]) await process.plan(5, at(minute), {}, {}, { mode: "recommend" });
    await process.plan(3, at(3), {}, {}, { mode: "recommend" });
    await process.plan(3, at(4));
    expect(process.replicas).toBe(10);
    expect(process.queue.list()).toMatchObject([{ from: 10, to: 3, state: "awaiting" }]);
    await process.plan(5, at(14));
    expect(process.replicas).toBe(5);
    await process.plan(3, at(17));
    expect(process.replicas).toBe(5);
  });

  it("changes nothing once it has expired, approved or not", async () => {
    const path = await directory();
    const process = new Process(path);
    await process.plan(30, at(0));
    const { id } = process.queue.list()[0]!;
    await expect(process.queue.decide(id, APPROVE, at(15))).rejects.toThrow(
      "is expired; nothing was changed",
    );
    await process.queue.decide(id, APPROVE, at(14));
    await process.plan(10, at(14.5));
    await process.plan(30, at(15));
    expect(process.replicas).toBe(10);
    await process.end();
    expect(states(path)).toEqual(["awaiting", "approved", "awaiting", "expired"]);
  });

  it("is carried out at the time that was approved, and no sooner", async () => {
    const process = new Process(await directory());
    onTestFinished(() => process.end());
    await process.plan(30, at(0));
    await process.queue.decide(process.queue.list()[0]!.id, { ...APPROVE, notBeforeMs: at(60) }, at(1));
    await process.plan(30, at(59.9));
    expect(process.replicas).toBe(10);
    await process.plan(30, at(60));
    expect(process.replicas).toBe(30);
  });

  it("is refused by the annotation of the Application", async () => {
    const process = new Process(await directory());
    onTestFinished(() => process.end());
    await process.plan(30, at(0));
    const { id } = process.queue.list()[0]!;
    await process.queue.takeAnnotations(HOTEL, { approved: [], refused: [id] }, at(1));
    await process.plan(30, at(2));
    expect(process.replicas).toBe(10);
    expect(process.queue.list()).toMatchObject([{ id, state: "refused", by: "annotation" }]);
  });

  it("is approved by the annotation of the Application while it waits", async () => {
    const process = new Process(await directory());
    onTestFinished(() => process.end());
    await process.plan(30, at(0));
    const { id } = process.queue.list()[0]!;
    await process.queue.takeAnnotations(HOTEL, { approved: ["ffffffffff", id], refused: [] }, at(1));
    await process.plan(30, at(2));
    expect(process.replicas).toBe(30);
  });

  it("is neither approved nor refused by the annotation of another Application", async () => {
    const size = { kind: "size", service: "search", resource: "replicas", from: 10, to: 30 } as const;
    const open = { proposedAtMs: at(0), expiresMs: at(15), state: "awaiting" } as const;
    const waiting = (id: string, name: string, namespace: string): Change =>
      Object.assign({ id, application: name, namespace }, size, open);
    const [own, desk, bank] = ["aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc"] as const;
    const changes = [
      waiting(own, "hotel", "shop"),
      waiting(desk, "desk", "shop"),
      waiting(bank, "hotel", "bank"),
    ];
    const queue = new ChangeQueue(
      changes,
      async () => true,
      () => application,
    );
    await queue.takeAnnotations(HOTEL, { approved: [desk], refused: [bank] }, at(1));
    expect(queue.list().map(({ state }) => state)).toEqual(["awaiting", "awaiting", "awaiting"]);
    await queue.takeAnnotations(HOTEL, { approved: [own], refused: [] }, at(1));
    expect(queue.list().map(({ id, state }) => [id, state])).toEqual([
      [own, "approved"],
      [desk, "awaiting"],
      [bank, "awaiting"],
    ]);
  });

  it("is carried out once only although the disk refuses to take that it was, which is written once the disk takes it", async () => {
    const path = await directory();
    const process = new Process(path);
    await process.plan(30, at(0));
    await process.queue.decide(process.queue.list()[0]!.id, APPROVE, at(1));
    process.diskRefuses = true;
    await process.plan(30, at(2));
    await process.plan(12, at(3));
    await process.plan(30, at(4));
    expect(process.replicas).toBe(12);
    process.diskRefuses = false;
    await process.plan(30, at(5));
    await process.end();
    expect(states(path)).toEqual(["awaiting", "approved", "executed", "awaiting"]);
  });

  it("is shown while the disk refuses it, and cannot be decided on before the disk takes it", async () => {
    const path = await directory();
    const process = new Process(path);
    process.diskRefuses = true;
    await process.plan(30, at(0));
    expect(process.queue.list()).toMatchObject([{ from: 10, to: 30, state: "awaiting" }]);
    const { id } = process.queue.list()[0]!;
    await expect(process.queue.decide(id, APPROVE, at(1))).rejects.toThrow("cannot be written down");
    expect(process.queue.list()).toMatchObject([{ state: "awaiting" }]);
    process.diskRefuses = false;
    await process.queue.decide(id, APPROVE, at(1));
    await process.plan(30, at(2));
    expect(process.replicas).toBe(30);
    await process.end();
    expect(states(path)).toEqual(["awaiting", "approved", "executed"]);
  });

  it("waits after a restart too before the Application has been read", async () => {
    const path = await directory();
    const before = new Process(path);
    await before.plan(10, at(0));
    await before.end();
    const after = new Process(path);
    onTestFinished(() => after.end());
    [after.nowMs, after.application] = [at(1), undefined];
    await after.recommender.restore();
    for (const minute of [1, 2]) {
      await after.plan(30, at(minute));
      expect(after.replicas).toBe(10);
    }
    expect(after.queue.list()).toMatchObject([{ from: 10, to: 30, proposedAtMs: at(1), expiresMs: at(16) }]);
    after.application = { ...application, approval: undefined };
    await after.plan(30, at(3));
    expect(after.replicas).toBe(30);
  });

  it("waits while the Application is deleted, until it is created again", async () => {
    const process = new Process(await directory());
    onTestFinished(() => process.end());
    await process.plan(10, at(0));
    process.application = undefined;
    await process.plan(30, at(1));
    expect(process.replicas).toBe(10);
  });
});

it("a scheduled change of a process that is killed at any step is carried out once or not at all, and once in the end", async () => {
  let outcomes = 0;
  for (let killAt = 1; ; killAt += 1) {
    const path = await directory();
    const before = new Process(path);
    await before.plan(30, at(0));
    await before.queue.decide(before.queue.list()[0]!.id, { ...APPROVE, notBeforeMs: at(10) }, at(1));
    await before.end();
    let steps = 0;
    const killed = new Process(path, () => {
      steps += 1;
      if (steps === killAt) throw new Killed();
    });
    const work = async (): Promise<unknown> => {
      killed.nowMs = at(10);
      await killed.recommender.restore();
      await killed.plan(30, at(10));
      return "ended";
    };
    const end = await work().catch((error: unknown) => error);
    await killed.end();
    expect(states(path).filter((state) => state === "executed").length).toBeLessThanOrEqual(1);
    const after = new Process(path);
    after.nowMs = at(10.2);
    await after.recommender.restore();
    expect([undefined, 10, 30]).toContain(after.replicas);
    for (const minute of [10.25, 10.5, 10.75]) await after.plan(30, at(minute));
    expect(after.replicas).toBe(30);
    await after.end();
    expect(states(path)).toEqual(["awaiting", "approved", "executed"]);
    outcomes += 1;
    if (end === "ended") break;
    expect(end).toBeInstanceOf(Killed);
  }
  expect(outcomes).toBeGreaterThan(6);
}, 60_000);

it("counts once where the process was killed between its decision and the journal, and the next plan asks for less", async () => {
  const path = await directory();
  const before = new Process(path);
  await before.plan(30, at(0));
  await before.queue.decide(before.queue.list()[0]!.id, APPROVE, at(1));
  // The decision is on disk, and that the change was carried out is not.
  before.diskRefuses = true;
  await before.plan(30, at(2));
  expect(before.replicas).toBe(30);
  await before.end();
  const after = new Process(path);
  after.nowMs = at(2.5);
  await after.recommender.restore();
  expect(after.queue.list()[0]?.state).toBe("executed");
  await after.plan(12, at(3));
  await after.plan(30, at(4));
  expect(after.replicas).toBe(12);
  await after.end();
  expect(states(path)).toEqual(["awaiting", "approved", "executed", "awaiting"]);
});
