import { join } from "node:path";
import { Plan } from "@tradewind/core/contract/plan.ts";
import type { Running } from "@tradewind/core/process/running.ts";
import { startPredictor } from "@tradewind/predictor/predictor.ts";
import { openStoreForReading } from "@tradewind/predictor/store/database.ts";
import { HISTORY_FILE } from "@tradewind/predictor/store/history-file.ts";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { waitUntil } from "../wait-until.ts";
import { RunningApplication } from "./running-application.ts";

const now = Date.now.bind(Date);

afterEach(() => {
  vi.restoreAllMocks();
});

/** Sets the wall clock of this process. */
function setClock(aheadMs: number): void {
  vi.spyOn(Date, "now").mockImplementation(() => now() + aheadMs);
}

/** A predictor that plans each second, with traffic and an agent whose clocks are set together with its own. */
async function running() {
  const application = await RunningApplication.start();
  onTestFinished(async () => application.stop());
  const predictor = await startPredictor(
    application.predictorOptions({ policy: "queue", state: application.state }),
  );
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    stopped ??= predictor.stop();
    return stopped;
  };
  onTestFinished(stop);
  const timer = setInterval(() => {
    void application.sendTraces(predictor.addresses["otlp"]!, 5, 50).catch(() => undefined);
  }, 100);
  onTestFinished(() => clearInterval(timer));
  return { application, predictor, stop };
}

const text = async (running: Running, path: string): Promise<string> =>
  (await fetch(`${running.addresses["http"]}${path}`)).text();
async function planOf(running: Running): Promise<Plan> {
  return Plan.parse(JSON.parse(await text(running, "/v1/plan")));
}

/** The first plan that comes some windows later and rests on traffic. */
async function laterPlan(running: Running, windows: number): Promise<Plan> {
  const { sequence } = await planOf(running);
  let found: Plan | undefined;
  await waitUntil(
    async () => {
      const plan = await planOf(running);
      if (plan.sequence >= sequence + windows && plan.policy === "queue") found = plan;
      return found !== undefined;
    },
    15_000,
    `${windows} more plans`,
  );
  return found!;
}

describe("a predictor whose wall clock is set", () => {
  it.each([
    ["back by two minutes", -120_000],
    ["forward by ten minutes", 600_000],
  ])(
    "%s goes on planning each window on what it measures, ready and with the new labels",
    async (_, stepMs) => {
      const { predictor } = await running();
      await waitUntil(async () => (await text(predictor, "/v1/plan")).includes('"policy":"queue"'));
      setClock(stepMs);
      const plan = await laterPlan(predictor, 6);
      expect(Math.abs(plan.plannedAtMs - Date.now())).toBeLessThan(3_000);
      expect(plan.wishes.map(({ observed }) => observed.complete)).toEqual([true, true]);
      expect(plan.wishes[0]!.evidence["requestsPerSecond"]).toBeGreaterThan(20);
      expect((await fetch(`${predictor.addresses["http"]}/readyz`)).status).toBe(200);
      const metrics = await text(predictor, "/metrics");
      const direction = stepMs > 0 ? "forward" : "back";
      const seconds = new RegExp(`clock_step_seconds_total\\{direction="${direction}"\\} (\\S+)`).exec(
        metrics,
      );
      expect(Math.abs(Number(seconds?.[1]) - Math.abs(stepMs) / 1e3)).toBeLessThan(2);
      const age = /^tradewind_predictor_plan_age_seconds (\S+)$/m.exec(metrics);
      expect(Number(age?.[1])).toBeGreaterThanOrEqual(0);
      expect(Number(age?.[1])).toBeLessThan(4);
    },
  );

  it("stores no time twice", async () => {
    const { application, predictor, stop } = await running();
    await waitUntil(async () => (await text(predictor, "/v1/plan")).includes('"policy":"queue"'));
    const first = await laterPlan(predictor, 3);
    setClock(-5_000);
    const last = await laterPlan(predictor, 12);
    await stop();
    const tables = openStoreForReading(join(application.state, HISTORY_FILE));
    const kept = [...tables.windows(1, { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, service: "geo" })];
    tables.database.close();
    const starts = kept.map(({ startMs }) => startMs);
    expect(new Set(starts).size).toBe(starts.length);
    expect(starts).toEqual([...starts].sort((a, b) => a - b));
    expect(last.wishes[0]!.inputs.windowEndMs).toBeGreaterThan(first.wishes[0]!.inputs.windowEndMs);
    // What was measured before the clock was set is kept as it was measured then.
    const before = kept.find(({ endMs }) => endMs === first.wishes[0]!.inputs.windowEndMs);
    expect(before?.requestsPerSecond).toBe(first.wishes[1]!.evidence["requestsPerSecond"]);
  });
});
