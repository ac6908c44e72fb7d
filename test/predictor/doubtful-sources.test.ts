import { appendFile } from "node:fs/promises";
import { Plan } from "@tradewind/core/contract/plan.ts";
import { startPredictor } from "@tradewind/predictor/predictor.ts";
import { describe, expect, it, onTestFinished } from "vitest";
import { waitUntil } from "../wait-until.ts";
import { RunningApplication } from "./running-application.ts";

describe("a predictor with a healthy source and one that is down", () => {
  it.each([
    ["jaeger", "jaeger: [{ name: store, url: 'http://127.0.0.1:1', maxAttempts: 1, graceSeconds: 0.2 }]"],
    [
      "prometheus",
      "prometheus: [{ name: store, url: 'http://127.0.0.1:1', metrics: istio, maxAttempts: 1, graceSeconds: 0.2, backfill: { enabled: false } }]",
    ],
  ])("decides by the healthy one: with %s down it grows, and nothing is missing", async (_, source) => {
    const application = await RunningApplication.start();
    onTestFinished(async () => application.stop());
    application.podUsageCores = 0.45;
    await appendFile(application.config, `sources: { ${source} }\n`);
    const predictor = await startPredictor(application.predictorOptions({ policy: "queue" }));
    onTestFinished(async () => predictor.stop());
    const timer = setInterval(() => {
      void application.sendTraces(predictor.addresses["otlp"]!, 5, 250).catch(() => undefined);
    }, 100);
    onTestFinished(() => clearInterval(timer));
    let grown: Plan | undefined;
    await waitUntil(
      async () => {
        const response = await fetch(`${predictor.addresses["http"]}/v1/plan`);
        const plan = response.ok ? Plan.parse(await response.json()) : undefined;
        const geo = plan?.wishes.find(({ service }) => service === "geo");
        if (plan?.policy === "queue" && (geo?.allocation.replicas ?? 0) > 2) grown = plan;
        return grown !== undefined;
      },
      20_000,
      "geo is given more",
    );
    expect(grown!.complete).toBe(true);
    expect(grown!.missing).toBeUndefined();
    expect(grown!.wishes.map(({ observed }) => observed.complete)).toEqual([true, true]);
    const metrics = await (await fetch(`${predictor.addresses["http"]}/metrics`)).text();
    expect(metrics).toMatch(/tradewind_source_failures_total\{source="store".*\} [1-9]/);
  });
});
