import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { replay } from "@tradewind/exporter/decide/guard/guard.ts";
import { Process, START_MS } from "../approval/scene.ts";
import { planOf, wishOf } from "../../wish.ts";

const WINDOW_MS = 15_000;

/** @param windowEndMs of the measurements; by default the time of the plan */
async function see(
  process: Process,
  window: number,
  running: number,
  seconds: number,
  windowEndMs = START_MS + window * WINDOW_MS,
  failing: Pick<Plan, "failedRatio"> = {},
): Promise<void> {
  const atMs = START_MS + window * WINDOW_MS;
  process.nowMs = atMs;
  const wish = wishOf({
    allocation: { replicas: 4 },
    observed: { replicasReady: running, replicasWanted: running, lastStartedAtMs: 0, complete: true },
    evidence: { requestsPerSecond: 100, interferenceCpu: 0 },
  });
  const measured = { measuredLatencySeconds: seconds, ...failing };
  const plan: Plan = planOf([wish], { mode: "act", plannedAtMs: atMs, ...measured });
  const wishes = plan.wishes.map((each) => ({ ...each, inputs: { ...each.inputs, windowEndMs } }));
  const { wishes: _, ...header } = plan;
  await process.recommender.takePlan({ header, wishes, madeMs: atMs });
}

/** A scaler that has seen two windows in which six replicas held the objective. */
async function calm(): Promise<Process> {
  const directory = await mkdtemp(join(tmpdir(), "tradewind-rollback-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const process = new Process(directory);
  onTestFinished(() => process.end());
  for (const window of [0, 1]) await see(process, window, 6, 0.1);
  return process;
}

it("keeps what ran before a harmful change for half an hour, also over a restart, and can be replayed", async () => {
  const directory = await mkdtemp(join(tmpdir(), "tradewind-rollback-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const process = new Process(directory);
  for (const [window, [running, seconds]] of [
    [6, 0.1],
    [6, 0.1],
    [4, 0.3],
    [4, 0.3],
  ].entries()) {
    expect(process.replicas ?? 4).toBe(4);
    await see(process, window, running!, seconds!);
  }
  expect(process.replicas).toBe(6);
  await process.end();
  const after = new Process(directory);
  after.nowMs = START_MS + 4 * WINDOW_MS;
  await after.recommender.restore();
  await see(after, 5, 6, 0.1);
  expect(after.replicas).toBe(6);
  const record = DecisionRecord.parse(JSON.parse(after.recommender.book.get("shop", "search")!.json));
  expect(record.actions.map(({ step }) => step)).toEqual(["rollback"]);
  expect(replay(record).final).toEqual(record.final);
  await see(after, 3 + 120 + 1, 6, 0.1);
  expect(after.replicas).toBe(4);
  await after.end();
});

it("does not take two plans of one window for two windows in which the objective is missed", async () => {
  const process = await calm();
  await see(process, 2, 4, 0.3);
  await see(process, 2.5, 4, 0.3, START_MS + 2 * WINDOW_MS);
  expect(process.replicas).toBe(4);
  await see(process, 3, 4, 0.3);
  expect(process.replicas).toBe(6);
});

it("takes back a change after which requests fail, however fast they do", async () => {
  const process = await calm();
  for (const window of [2, 3]) await see(process, window, 4, 0.01, undefined, { failedRatio: 0.4 });
  expect(process.replicas).toBe(6);
});

it("watches a change on over a plan without wishes", async () => {
  const process = await calm();
  await see(process, 2, 4, 0.3);
  const { wishes, ...header } = planOf([], { mode: "act", plannedAtMs: START_MS + 2.5 * WINDOW_MS });
  await process.recommender.takePlan({ header, wishes, madeMs: START_MS + 2.5 * WINDOW_MS });
  await see(process, 3, 4, 0.3);
  expect(process.replicas).toBe(6);
});
