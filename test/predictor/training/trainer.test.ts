import { ALL_ON } from "@tradewind/predictor/profile/model.ts";
import type { Worker } from "node:worker_threads";
import { seededRng } from "@tradewind/core/rng.ts";
import type { StartedEngine } from "@tradewind/predictor/training/engines.ts";
import { Trainer } from "@tradewind/predictor/training/trainer.ts";
import type { TrainerOptions } from "@tradewind/predictor/training/trainer.ts";
import type { TrainingJob } from "@tradewind/predictor/training/train-service.ts";
import { afterEach, describe, expect, it } from "vitest";
import { simulatedWindows } from "./processor-sharing.ts";

const job: TrainingJob = {
  namespace: "shop",
  service: "cart",
  windows: simulatedWindows([0.5, 1], 100, seededRng(1)),
  percentile: 0.95,
  switches: ALL_ON,
  current: undefined,
  nowMs: 1_700_010_000_000,
  seed: 1,
  settings: { members: 1, spareMembers: 0, maxEpochs: 150 },
};

const trainers: Trainer[] = [];
function trainer(timeoutMs: number, more: Partial<TrainerOptions> = {}): Trainer {
  const made = new Trainer({ timeoutMs, ...more });
  trainers.push(made);
  return made;
}
afterEach(async () => {
  await Promise.all(trainers.splice(0).map(async (each) => each.stop()));
});

describe("trainer", () => {
  it("trains in a worker thread, leaves the event loop free and says which engine it used", async () => {
    const started: StartedEngine[] = [];
    const made = trainer(60_000, { onEngine: (each) => started.push(each) });
    let ticks = 0;
    const ticking = setInterval(() => {
      ticks += 1;
    }, 5);
    const outcome = await made.train(job);
    clearInterval(ticking);
    expect(["replaced", "kept"]).toContain(outcome.kind);
    expect(ticks).toBeGreaterThan(20);
    expect(started).toEqual([{ engine: "wasm" }]);
  });

  it("trains with the engine that it is asked for", async () => {
    const started: StartedEngine[] = [];
    const made = trainer(60_000, { engine: "cpu", onEngine: (each) => started.push(each) });
    expect(await made.train({ ...job, windows: [] })).toMatchObject({ kind: "too-few-rows" });
    expect(started).toEqual([{ engine: "cpu" }]);
  });

  it("trains residuals of flows on the same thread, one job after another", async () => {
    const made = trainer(60_000);
    const rows = Array.from({ length: 120 }, (_, at) => {
      const ownTails = Float64Array.of(0.01 * (1 + (at % 7)), 0.02 * (1 + (at % 3)));
      const priorSeconds = ownTails[0]! + ownTails[1]!;
      return { atMs: at, ownTails, priorSeconds, tailSeconds: 1.5 * priorSeconds };
    });
    const flow = {
      flow: "GET /",
      percentile: 0.95,
      services: ["frontend", "geo"],
      rows,
      current: undefined,
      nowMs: 5,
      seed: 1,
      settings: { maxSteps: 60, starts: 1 },
    };
    const [profile, first, second] = await Promise.all([
      made.train({ ...job, windows: [] }),
      made.trainEndToEnd(flow),
      made.trainEndToEnd(flow),
    ]);
    expect(profile).toMatchObject({ kind: "too-few-rows" });
    expect(first).toMatchObject({
      kind: "replaced",
      model: { services: ["frontend", "geo"], trainedAtMs: 5 },
    });
    expect(second).toEqual(first);
    expect(await made.trainEndToEnd({ ...flow, rows: [] })).toMatchObject({
      kind: "too-few-rows",
      needed: 94,
    });
  });

  it("comes back as failed when it takes too long, and trains again afterwards", async () => {
    const made = trainer(1);
    expect(await made.train(job)).toEqual({ kind: "failed", why: "no answer within 1 ms" });
    const small = trainer(60_000);
    expect(await small.train({ ...job, windows: [] })).toMatchObject({ kind: "too-few-rows", rows: 0 });
  });

  it("ends its thread when no job is left, so that what the thread holds is returned, and trains on another one afterwards", async () => {
    const threads: Worker[] = [];
    const started = (thread: Worker): number => threads.push(thread);
    process.on("worker", started);
    const made = trainer(60_000);
    const none = { ...job, windows: [] };
    await Promise.all([made.train(none), made.train(none)]);
    expect(threads).toHaveLength(1);
    expect(await made.train(none)).toMatchObject({ kind: "too-few-rows" });
    expect(threads).toHaveLength(2);
    await made.stop();
    process.off("worker", started);
    expect(threads.map(({ threadId }) => threadId)).toEqual([-1, -1]);
  });

  it("gives up what is under way when it is stopped", async () => {
    const made = trainer(60_000);
    const under = made.train(job);
    await made.stop();
    expect(await under).toEqual({ kind: "failed", why: "training was stopped" });
  });
});
