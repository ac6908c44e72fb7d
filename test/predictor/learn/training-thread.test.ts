import type { Worker } from "node:worker_threads";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { TrainingThread } from "@tradewind/predictor/learn/training-thread.ts";
import { trainResidual } from "@tradewind/predictor/models/residual/train-residual.ts";
import type { ResidualJob } from "@tradewind/predictor/models/residual/train-residual.ts";
import { afterEach, describe, expect, it } from "vitest";
import { pressedWindows } from "../models/residual/pressed-service.ts";

const job: ResidualJob = {
  namespace: "shop",
  service: "cart",
  windows: pressedWindows(90, (memory) => 1 + 8 * Math.max(0, memory - 0.7), 65),
  percentile: 0.95,
  version: 1,
  nowMs: 1_700_010_000_000,
  seed: 1,
};

const trainers: TrainingThread[] = [];
function trainer(timeoutMs: number): TrainingThread {
  const made = new TrainingThread({ timeoutMs });
  trainers.push(made);
  return made;
}
afterEach(async () => {
  await Promise.all(trainers.splice(0).map(async (each) => each.stop()));
});

describe("training residuals on another thread", () => {
  it("comes to the same model as on this thread, and leaves the event loop free", async () => {
    let ticks = 0;
    const ticking = setInterval(() => {
      ticks += 1;
    }, 5);
    const outcome = await trainer(60_000).trainResidual(job);
    clearInterval(ticking);
    expect(outcome).toEqual(trainResidual(job, seededRng(job.seed)));
    expect(outcome.kind).toBe("trained");
    expect(ticks).toBeGreaterThan(1);
  });

  it("takes one job after another, and says where there is too little to learn from", async () => {
    const made = trainer(60_000);
    const [first, none, second] = await Promise.all([
      made.trainResidual(job),
      made.trainResidual({ ...job, windows: [] }),
      made.trainResidual(job),
    ]);
    expect(none).toEqual({ kind: "too-few-rows", rows: 0 });
    expect(second).toEqual(first);
  });

  it("comes back as failed when it takes too long", async () => {
    expect(await trainer(1).trainResidual(job)).toEqual({ kind: "failed", why: "no answer within 1 ms" });
  });

  it("ends its thread when no job is left, so that what the thread holds is returned, and trains on another one afterwards", async () => {
    const threads: Worker[] = [];
    const started = (thread: Worker): number => threads.push(thread);
    process.on("worker", started);
    const made = trainer(60_000);
    const none = { ...job, windows: [] };
    await Promise.all([made.trainResidual(none), made.trainResidual(none)]);
    expect(threads).toHaveLength(1);
    expect(await made.trainResidual(none)).toMatchObject({ kind: "too-few-rows" });
    expect(threads).toHaveLength(2);
    await made.stop();
    process.off("worker", started);
    expect(threads.map(({ threadId }) => threadId)).toEqual([-1, -1]);
  });

  it("gives up what is under way when it is stopped", async () => {
    const made = trainer(60_000);
    const under = made.trainResidual(job);
    await made.stop();
    expect(await under).toEqual({ kind: "failed", why: "training was stopped" });
  });
});
