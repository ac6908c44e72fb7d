import { loadPackageDefinition, Server, ServerCredentials, status } from "@grpc/grpc-js";
import type { sendUnaryData, ServerUnaryCall, ServiceDefinition } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { createActuator } from "@tradewind/local/actuator/actuator.ts";
import type { Actuation } from "@tradewind/local/actuator/actuator.ts";
import { createKeda } from "@tradewind/local/actuator/keda.ts";
import { DEMO_TIMINGS, demoBehavior } from "@tradewind/local/actuator/scaled-object.ts";
import type { ScaledObject } from "@tradewind/local/actuator/scaled-object.ts";
import { createScalerClient } from "@tradewind/local/actuator/scaler-client.ts";
import { waitUntil } from "../../wait-until.ts";

interface ScalerAnswers {
  specs: object[];
  values: object[];
  active: boolean;
  /** Calls that are still to fail, newest first; 0 for none. */
  failures: number;
}

interface Scaler {
  readonly address: string;
  readonly answers: ScalerAnswers;
  readonly calls: { readonly method: string; readonly request: Record<string, unknown> }[];
  stop(): void;
}

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

/** A scaler that answers what it is told, on a real port. */
async function startScaler(port = 0): Promise<Scaler> {
  const path = new URL("../../../exporter/serve/keda/externalscaler.proto", import.meta.url).pathname;
  const loaded = loadPackageDefinition(loadSync(path, { keepCase: true, defaults: true })) as unknown as {
    externalscaler: { ExternalScaler: { service: ServiceDefinition } };
  };
  const answers: ScalerAnswers = {
    specs: [{ metricName: "recommended-replicas", targetSize: 1, targetSizeFloat: 1 }],
    values: [{ metricName: "recommended-replicas", metricValue: 3, metricValueFloat: 3 }],
    active: true,
    failures: 0,
  };
  const calls: Scaler["calls"] = [];
  const handler =
    (method: string, answer: () => object) =>
    (call: ServerUnaryCall<Record<string, unknown>, object>, callback: sendUnaryData<object>): void => {
      calls.push({ method, request: call.request });
      if (answers.failures > 0) {
        answers.failures -= 1;
        callback({ code: status.UNAVAILABLE, details: "no recommendation" });
      } else callback(null, answer());
    };
  const server = new Server();
  server.addService(loaded.externalscaler.ExternalScaler.service, {
    getMetricSpec: handler("GetMetricSpec", () => ({ metricSpecs: answers.specs })),
    getMetrics: handler("GetMetrics", () => ({ metricValues: answers.values })),
    isActive: handler("IsActive", () => ({ result: answers.active })),
  });
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, taken) =>
      error ? reject(error) : resolve(taken),
    );
  });
  const stop = (): void => server.forceShutdown();
  stops.push(stop);
  return { address: `127.0.0.1:${bound}`, answers, calls, stop };
}

const object: ScaledObject = {
  ref: { name: "rate", namespace: "local", scalerMetadata: { service: "rate", scalerAddress: "here:1" } },
  service: "rate",
  minReplicaCount: 1,
  maxReplicaCount: 5,
  behavior: demoBehavior(DEMO_TIMINGS, 0),
};

function connectTo(scaler: Scaler) {
  const counts = { dials: 0, rpcs: 0, failedRpcs: 0 };
  const keda = createKeda(() => {
    counts.dials += 1;
    return createScalerClient(scaler.address, (_millis, failed) => {
      counts.rpcs += 1;
      if (failed) counts.failedRpcs += 1;
    });
  });
  stops.push(() => keda.close());
  return { keda, counts };
}

describe("one reading of a scaler", () => {
  it("asks GetMetricSpec, GetMetrics and IsActive afresh, with the prefix of the HPA's name taken off again", async () => {
    const scaler = await startScaler();
    const { keda } = connectTo(scaler);
    const reading = await keda.read(object);
    expect(reading).toEqual({
      metrics: [{ name: "s0-recommended-replicas", usage: 3, targetAverageValue: 1 }],
      active: true,
    });
    await keda.read(object);
    expect(scaler.calls.map(({ method }) => method)).toEqual([
      "GetMetricSpec",
      "GetMetrics",
      "IsActive",
      "GetMetricSpec",
      "GetMetrics",
      "IsActive",
    ]);
    expect(scaler.calls[1]!.request).toMatchObject({
      metricName: "recommended-replicas",
      scaledObjectRef: { name: "rate", namespace: "local", scalerMetadata: { service: "rate" } },
    });
  });

  it.each([
    ["the float when both are there", { metricValue: 3, metricValueFloat: 3.5 }, 3.5],
    ["the integer of a scaler before 2.17", { metricValue: 4, metricValueFloat: 0 }, 4],
  ])("takes %s", async (_case, value, expected) => {
    const scaler = await startScaler();
    scaler.answers.values = [{ metricName: "any", ...value }];
    const { keda } = connectTo(scaler);
    expect((await keda.read(object)).metrics[0]!.usage).toBe(expected);
  });

  it("sums several values, as the autoscaler does", async () => {
    const scaler = await startScaler();
    scaler.answers.values = [{ metricValue: 2 }, { metricValue: 3 }];
    const { keda } = connectTo(scaler);
    expect((await keda.read(object)).metrics[0]!.usage).toBe(5);
  });

  it("tries once more with a new client, and counts no failed reading when that works", async () => {
    const scaler = await startScaler();
    scaler.answers.failures = 1;
    const { keda, counts } = connectTo(scaler);
    await keda.read(object);
    expect(counts).toMatchObject({ dials: 2, failedRpcs: 1 });
    expect(keda.failedReads).toBe(0);
  });

  it.each<[string, (answers: ScalerAnswers) => void]>([
    ["fails twice", (answers) => (answers.failures = 2)],
    ["answers no spec", (answers) => (answers.specs = [])],
    ["answers no value", (answers) => (answers.values = [])],
  ])("fails when the scaler %s", async (_case, spoil) => {
    const scaler = await startScaler();
    spoil(scaler.answers);
    const { keda } = connectTo(scaler);
    await expect(keda.read(object)).rejects.toThrow("scaler of rate failed");
    expect(keda.failedReads).toBe(1);
  });

  it("fails fast when nobody listens, and works again when somebody does", async () => {
    const scaler = await startScaler();
    const { keda } = connectTo(scaler);
    await keda.read(object);
    scaler.stop();
    const startMs = performance.now();
    await expect(keda.read(object)).rejects.toThrow("scaler of rate failed");
    expect(performance.now() - startMs).toBeLessThan(5_000);
    const again = await startScaler(Number(scaler.address.split(":")[1]));
    again.answers.values = [{ metricValue: 4 }];
    expect((await keda.read(object)).metrics[0]!.usage).toBe(4);
  });
});

describe("the actuator", () => {
  async function act(change: (scaler: Scaler) => void, from = 2, scaled: ScaledObject = object) {
    const scaler = await startScaler();
    change(scaler);
    const { keda } = connectTo(scaler);
    const replicas = new Map([["rate", from]]);
    const actuations: Actuation[] = [];
    const troubles: (string | undefined)[] = [];
    const actuator = createActuator({
      source: keda,
      target: {
        replicas: (service) => replicas.get(service) ?? 0,
        scale: (service, wanted) => void replicas.set(service, wanted),
      },
      timings: { pollingIntervalSeconds: 0.05, syncPeriodSeconds: 0.05, scaleDownStabilizationSeconds: 1 },
      clock: systemClock,
      onActuation: (actuation) => actuations.push(actuation),
      onTrouble: (_service, text) => troubles.push(text),
    });
    actuator.apply(scaled);
    stops.push(() => void actuator.stop());
    return { scaler, replicas, actuations, troubles };
  }

  it("scales to what the scaler says, once, and says why", async () => {
    const { scaler, actuations, replicas } = await act(() => undefined);
    await waitUntil(() => scaler.calls.length >= 18);
    expect(actuations).toEqual([{ service: "rate", from: 2, to: 3, reason: "desired" }]);
    expect(replicas.get("rate")).toBe(3);
  });

  it("changes nothing while the scaler is in trouble, and tells of the start and the end of it", async () => {
    const { scaler, actuations, troubles } = await act(({ answers }) => (answers.failures = 1_000_000));
    await waitUntil(() => scaler.calls.length >= 8);
    expect(actuations).toEqual([]);
    expect(troubles).toHaveLength(1);
    expect(troubles[0]).toContain("no recommendation");
    scaler.answers.failures = 0;
    await waitUntil(() => actuations.length > 0);
    expect(troubles).toHaveLength(2);
    expect(troubles[1]).toBeUndefined();
  });

  it("starts the first replica of a service at 0 when the scaler becomes active", async () => {
    const zero = { ...object, minReplicaCount: 0 };
    const { actuations } = await act(() => undefined, 0, zero);
    await waitUntil(() => actuations.length >= 2);
    expect(actuations[0]).toEqual({ service: "rate", from: 0, to: 1, reason: "activated" });
    expect(actuations[1]).toMatchObject({ from: 1, to: 3 });
  });

  it("clamps to the ScaledObject's maximum", async () => {
    const { actuations } = await act(({ answers }) => (answers.values = [{ metricValue: 50 }]));
    await waitUntil(() => actuations.length > 0);
    expect(actuations[0]).toMatchObject({ to: 5, reason: "at maximum" });
  });
});
