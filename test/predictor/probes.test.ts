import { expect, it, onTestFinished } from "vitest";
import { WindowSet } from "@tradewind/core/contract/window.ts";
import { startPredictor } from "@tradewind/predictor/predictor.ts";
import { waitUntil } from "../wait-until.ts";
import { RunningApplication } from "./running-application.ts";

it("a predictor whose workloads declare their probes plans no route of those, and counts how many it left out", async () => {
  const application = await RunningApplication.start();
  onTestFinished(async () => application.stop());
  application.probePaths = ["/readyz"];
  await application.writeWorkloads();
  const running = await startPredictor(application.predictorOptions());
  onTestFinished(async () => running.stop());
  const { http, otlp } = running.addresses;
  const windows = async (): Promise<WindowSet | undefined> => {
    const answer = await fetch(`${http}/v1/windows`);
    const body: unknown = await answer.json();
    return answer.status === 200 ? WindowSet.parse(body) : undefined;
  };
  const frontend = (set: WindowSet | undefined) => set?.windows.find(({ service }) => service === "frontend");

  // Probes alone: the service is known to be asked nothing, and there is no route.
  await waitUntil(async () => {
    await application.sendProbe(otlp!, "/readyz");
    return frontend(await windows())?.requestsPerSecond !== undefined;
  }, 15_000);
  const idle = await windows();
  expect(frontend(idle)?.requestsPerSecond).toBe(0);
  expect(idle?.flows).toEqual([]);

  await waitUntil(async () => {
    await application.sendProbe(otlp!, "/readyz");
    await application.sendTraces(otlp!, 5, 20);
    return (frontend(await windows())?.requestsPerSecond ?? 0) > 0;
  }, 15_000);
  const busy = await windows();
  expect(busy?.flows.map(({ flow }) => flow)).toEqual(["GET /"]);
  expect(busy?.flows[0]?.requestsPerSecond).toBeCloseTo(frontend(busy)?.requestsPerSecond ?? NaN, 9);

  const metrics = await (await fetch(`${http}/metrics`)).text();
  expect(metrics).toMatch(/^tradewind_predictor_probe_spans_total\{known_by="path"\} [1-9]/m);
  expect(metrics).toMatch(/^tradewind_predictor_probe_spans_total\{known_by="user-agent"\} 0/m);
}, 60_000);
