import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import { openTrail } from "@tradewind/exporter/journal/journal.ts";
import { Killed, MINUTE_MS, Process, START_MS } from "./scene.ts";

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

const APPROVE = { verdict: "approve", by: "ann" } as const;
const at = (minutes: number): number => START_MS + minutes * MINUTE_MS;

describe("a change that waits for a person", () => {
  it("is carried out once it is approved, and once only", async () => {
    const path = await directory();
    const process = new Process(path);
    await process.plan(30, at(0));
    expect(process.replicas).toBe(10);
    const [change] = process.queue.list();
    process.queue.decide(change!.id, APPROVE, at(1));
    await process.plan(30, at(2));
    expect(process.replicas).toBe(30);
    await process.plan(12, at(3));
    await process.plan(30, at(4));
    expect(process.replicas).toBe(12);
    process.end();
    expect(states(path)).toEqual(["awaiting", "approved", "executed", "awaiting"]);
  });

  it("changes nothing when it is refused", async () => {
    const path = await directory();
    const process = new Process(path);
    await process.plan(30, at(0));
    process.queue.decide(process.queue.list()[0]!.id, { verdict: "refuse", by: "ann" }, at(1));
    await process.plan(10, at(2));
    expect(process.replicas).toBe(10);
    process.end();
    expect(states(path)).toEqual(["awaiting", "refused"]);
  });

  it("changes nothing once it has expired, approved or not", async () => {
    const path = await directory();
    const process = new Process(path);
    await process.plan(30, at(0));
    const { id } = process.queue.list()[0]!;
    expect(() => process.queue.decide(id, APPROVE, at(15))).toThrow("is expired; nothing was changed");
    process.queue.decide(id, APPROVE, at(14));
    await process.plan(10, at(14.5));
    await process.plan(30, at(15));
    expect(process.replicas).toBe(10);
    process.end();
    expect(states(path)).toEqual(["awaiting", "approved", "awaiting", "expired"]);
  });

  it("is carried out at the time that was approved, and no sooner", async () => {
    const process = new Process(await directory());
    onTestFinished(() => process.end());
    await process.plan(30, at(0));
    process.queue.decide(process.queue.list()[0]!.id, { ...APPROVE, notBeforeMs: at(60) }, at(1));
    await process.plan(30, at(59.9));
    expect(process.replicas).toBe(10);
    await process.plan(30, at(60));
    expect(process.replicas).toBe(30);
  });

  it("is approved by the annotation of the Application while it waits", async () => {
    const process = new Process(await directory());
    onTestFinished(() => process.end());
    await process.plan(30, at(0));
    const { id } = process.queue.list()[0]!;
    process.queue.approveAnnotated(["ffffffffff", id], at(1));
    await process.plan(30, at(2));
    expect(process.replicas).toBe(30);
  });
});

it("a scheduled change of a process that is killed at any step is carried out once or not at all, and once in the end", async () => {
  let outcomes = 0;
  for (let killAt = 1; ; killAt += 1) {
    const path = await directory();
    const before = new Process(path);
    await before.plan(30, at(0));
    before.queue.decide(before.queue.list()[0]!.id, { ...APPROVE, notBeforeMs: at(10) }, at(1));
    before.end();
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
    killed.end();
    expect(states(path).filter((state) => state === "executed").length).toBeLessThanOrEqual(1);
    const after = new Process(path);
    after.nowMs = at(10.2);
    await after.recommender.restore();
    expect([undefined, 10, 30]).toContain(after.replicas);
    for (const minute of [10.25, 10.5, 10.75]) await after.plan(30, at(minute));
    expect(after.replicas).toBe(30);
    after.end();
    expect(states(path)).toEqual(["awaiting", "approved", "executed"]);
    outcomes += 1;
    if (end === "ended") break;
    expect(end).toBeInstanceOf(Killed);
  }
  expect(outcomes).toBeGreaterThan(6);
});
