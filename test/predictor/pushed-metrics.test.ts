import { WindowSet } from "@tradewind/core/contract/window.ts";
import { startPredictor } from "@tradewind/predictor/predictor.ts";
import { expect, it } from "vitest";
import { freePort } from "../free-port.ts";
import { waitUntil } from "../wait-until.ts";
import { RunningApplication } from "./running-application.ts";
import { secretFile } from "./sources/peers/nodes.ts";
import { metricsProtobuf } from "./sources/otlp/pushed-metrics/otlp-metrics.ts";

it("predictors that share a Service measure the objective by pushed histograms alone, whichever of them gets one", async () => {
  const application = await RunningApplication.start();
  const ports = await Promise.all([freePort(), freePort()]);
  const peers = ports.map((port) => `http://127.0.0.1:${port}`);
  const peersSecretFile = secretFile();
  const running = await Promise.all(
    ports.map(async (port) =>
      startPredictor({
        config: application.config,
        listen: "127.0.0.1:0",
        otlpListen: "127.0.0.1:0",
        peersListen: `127.0.0.1:${port}`,
        peers,
        peersSecretFile,
        agents: [application.agent.url],
        workloads: application.workloads,
        windowSeconds: 1,
        graceSeconds: 0.2,
        workloadsPollMs: 30,
        logLevel: "silent",
      }),
    ),
  );
  const url = `${running[0]!.addresses["otlp"]}/v1/metrics`;
  const startMs = Date.now();
  let requests = 0;
  // A process that serves a request every 10 ms, in 50 ms each, and exports four times a second.
  const timer = setInterval(() => {
    const endMs = Date.now();
    requests = Math.floor((endMs - startMs) / 10);
    const explicit = { bounds: [0.01, 0.1], counts: [0, requests, 0] };
    const points = [{ startMs, endMs, count: requests, sum: 0.05 * requests, explicit }];
    const metric = {
      name: "http.server.request.duration",
      unit: "s",
      temporality: "cumulative",
      points,
    } as const;
    const body = metricsProtobuf([metric], { "service.name": "frontend", "k8s.pod.name": "frontend-1" });
    const headers = { "content-type": "application/x-protobuf" };
    void fetch(url, { method: "POST", body, headers }).catch(() => undefined);
  }, 250);
  try {
    for (const { addresses } of running) {
      let set: WindowSet | undefined;
      await waitUntil(async () => {
        const answer = await fetch(`${addresses["http"]}/v1/windows`);
        set = answer.status === 200 ? WindowSet.parse(await answer.json()) : undefined;
        const rate = set?.windows.find(({ service }) => service === "frontend")?.requestsPerSecond ?? 0;
        return Math.abs(rate - 100) < 5;
      }, 20_000);
      expect(set!.flows).toMatchObject([{ flow: "frontend", entryService: "frontend" }]);
      expect(set!.windows.find(({ service }) => service === "frontend")!.responseLatency).toMatchObject({
        meanSeconds: expect.closeTo(0.05, 6) as number,
      });
    }
  } finally {
    clearInterval(timer);
    await Promise.all(running.map(async (each) => each.stop()));
    await application.stop();
  }
});
