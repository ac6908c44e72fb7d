import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { noSteps, systemClock } from "@tradewind/core/process/clock.ts";
import type { ScalerThreadOptions } from "@tradewind/exporter/serve/keda/messages.ts";
import { ScalerThread } from "@tradewind/exporter/serve/keda/scaler-thread.ts";
import type { ServedRow } from "@tradewind/exporter/keep/served-table.ts";
import { ExporterOptions } from "@tradewind/exporter/options.ts";
import { exporterProcess } from "../../exporter-process.ts";
import { answering, fakePredictor } from "../../fake-predictor.ts";
import { until } from "../../until.ts";
import { planOf, wishOf } from "../../wish.ts";
import type { Ref } from "./wire.ts";
import { failure, WireClient } from "./wire-client.ts";

const DAY_MS = 86_400_000;
const refOf = (service: string): Ref => ({ name: "so", namespace: "shop", metadata: { service } });

function rowOf(service: string, replicas: number): ServedRow {
  const decided = {
    application: "hotel",
    replicas,
    decidedMs: systemClock.monotonicMs(),
    lifetimeMs: DAY_MS,
  };
  return { namespace: "shop", service, decided };
}

async function started(more: Partial<ScalerThreadOptions> = {}) {
  const { maxSenderWork, scaler } = ExporterOptions.parse({});
  const { streamLifetimeMs, ...limits } = scaler;
  const options = {
    listen: { host: "127.0.0.1", port: 0 },
    limits: { ...limits, maxSenderWork },
    streamLifetimeMs,
    forwardSteps: noSteps(),
  };
  const made = once(process, "worker") as Promise<[Worker]>;
  const onDeath = vi.fn<(error: Error) => void>();
  const thread = await ScalerThread.start(
    { ...options, logLevel: "silent", ...more },
    { observer: { tlsReloaded: () => undefined }, onDeath },
  );
  onTestFinished(() => thread.stop());
  const [worker] = await made;
  return { thread, worker, onDeath };
}

async function clientOf(thread: ScalerThread): Promise<WireClient> {
  const client = new WireClient(await thread.listen());
  onTestFinished(() => client.close());
  return client;
}

describe("an exporter whose thread for KEDA dies", () => {
  it("ends with an error for its kubelet to see, and the next one serves the same numbers", async () => {
    const directory = await mkdtemp(join(tmpdir(), "tradewind-thread-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const predictor = await fakePredictor(planOf([wishOf()]));
    onTestFinished(() => predictor.stop());
    vi.stubEnv("NODE_OPTIONS", `--import=${new URL("end-scaler-child.ts", import.meta.url).href}`);
    onTestFinished(() => void vi.unstubAllEnvs());
    const first = await exporterProcess(predictor, directory);
    await until("a decision", async () => (await first.list()).recommendations[0]);
    expect(await first.client.metrics(refOf("search"), "m")).toMatchObject([{ int: 5 }]);
    expect(await first.kill("SIGUSR2")).toBe(1);
    predictor.behave(answering("", 503));
    const second = await exporterProcess(predictor, directory);
    expect(await second.client.metrics(refOf("search"), "m")).toMatchObject([{ int: 5 }]);
  });
});

describe("the thread that answers KEDA", () => {
  it("serves what it was told before its port was bound, and all rows of a table in the place of those before", async () => {
    const { thread } = await started();
    await thread.serve(Array.from({ length: 120 }, (_, index) => rowOf(`service-${index}`, index)));
    const client = await clientOf(thread);
    for (const index of [0, 49, 50, 119])
      expect(await client.metrics(refOf(`service-${index}`), "m")).toMatchObject([{ int: index }]);
    await thread.serve([rowOf("service-1", 7)]);
    expect(await client.metrics(refOf("service-1"), "m")).toMatchObject([{ int: 7 }]);
    expect((await failure(client.metrics(refOf("service-0"), "m"))).details).toMatch(/no decision/);
  });

  it("says what keeps the predictor silent, until it is told that nothing does", async () => {
    const { thread } = await started();
    const client = await clientOf(thread);
    thread.setPredictorProblem("the predictor sleeps");
    await thread.report();
    expect((await failure(client.metrics(refOf("search"), "m"))).details).toMatch(/the predictor sleeps$/);
    thread.setPredictorProblem(undefined);
    await thread.report();
    expect((await failure(client.metrics(refOf("search"), "m"))).details).toMatch(/does not name it/);
  });

  it("reports every call that was answered, by RPC and status", async () => {
    const { thread } = await started();
    await thread.serve([rowOf("search", 3)]);
    const client = await clientOf(thread);
    await client.metrics(refOf("search"), "m");
    await client.metrics(refOf("search"), "m");
    await failure(client.metrics(refOf("rate"), "m"));
    const counted = (await thread.report()).calls.map(
      ({ rpc, code, counts }) => [rpc, code, counts.reduce((sum, each) => sum + each, 0)] as const,
    );
    expect(counted.filter(([, , calls]) => calls > 0)).toEqual([
      ["GetMetrics", "OK", 2],
      ["GetMetrics", "UNAVAILABLE", 1],
    ]);
    expect(counted).toContainEqual(["GetMetricSpec", "UNAVAILABLE", 0]);
  });

  it("is responsive until it is stuck, and then only says what it had counted before", async () => {
    const { thread, worker } = await started();
    expect(await thread.isResponsive()).toBe(true);
    const before = await thread.report();
    worker.postMessage = () => undefined;
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const asked = Promise.all([thread.isResponsive(), thread.report()]);
    await vi.advanceTimersByTimeAsync(4_000);
    expect(await asked).toEqual([false, before]);
    const stopped = thread.stop();
    await vi.advanceTimersByTimeAsync(5_000);
    await stopped;
    expect(worker.threadId).toBe(-1);
  });

  it("tells of its death with the reason, and lets nobody wait for it", async () => {
    const { thread, worker, onDeath } = await started();
    await thread.serve([rowOf("search", 3)]);
    await thread.listen();
    const serving = thread.serve([rowOf("search", 4)]);
    await worker.terminate();
    await expect(serving).rejects.toMatchObject({ code: "scaler-gone" });
    expect(onDeath).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: "scaler-gone" }));
    await expect(thread.listen()).rejects.toMatchObject({ code: "scaler-gone" });
  });

  it("is gone once it was stopped, and nobody hears of a death", async () => {
    const { thread, worker, onDeath } = await started();
    const client = await clientOf(thread);
    await thread.stop();
    expect(worker.threadId).toBe(-1);
    expect(onDeath).not.toHaveBeenCalled();
    await thread.serve([rowOf("search", 3)]);
    expect((await failure(client.metrics(refOf("search"), "m"))).code).toBe(14);
  });
});
