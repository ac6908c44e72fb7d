import { status } from "@grpc/grpc-js";
import type { ClientReadableStream, ServiceError } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished } from "vitest";
import { runningExporter } from "../../running-exporter.ts";
import { until } from "../../until.ts";
import { planOf, wishOf } from "../../wish.ts";
import { decodeIsActive, decodeMetrics } from "./wire.ts";
import type { Ref } from "./wire.ts";

const ref: Ref = { name: "so", namespace: "shop", metadata: { service: "search" } };

const plan = (sequence: number, replicas: number) =>
  planOf(
    [
      wishOf({
        allocation: { replicas },
        bounds: { ...wishOf().bounds, minReplicas: 0 },
      }),
    ],
    { sequence },
  );

/** Everything a stream says, and how it ended. */
function listen(stream: ClientReadableStream<Buffer>) {
  const heard: Buffer[] = [];
  const end: { code?: number } = {};
  stream.on("data", (bytes: Buffer) => heard.push(bytes));
  stream.on("error", (error: ServiceError) => {
    end.code = error.code;
  });
  stream.on("end", () => {
    end.code ??= status.OK;
  });
  onTestFinished(() => stream.cancel());
  return { heard, activity: () => heard.map(decodeIsActive), end };
}

describe("StreamIsActive", () => {
  it("says true on opening an active workload and afterwards speaks on transitions only", async () => {
    const exporter = await runningExporter(plan(1, 5));
    const { activity } = listen(exporter.client.stream("StreamIsActive", ref));
    await until("the state on opening", () => activity().length === 1);
    const serve = async (sequence: number, replicas: number) => {
      exporter.predictor.serve(plan(sequence, replicas));
      await exporter.listWhen("the plan", (list) => list.recommendations[0]!.replicas === replicas);
    };
    await serve(2, 6);
    await serve(3, 0);
    await serve(4, 3);
    await serve(5, 9);
    await until("the last transition", () => activity().length === 3);
    expect(activity()).toEqual([true, false, true]);
  });

  it("says nothing on opening an inactive or unknown workload, and speaks once it is known to be active", async () => {
    const exporter = await runningExporter(undefined);
    const { activity, end } = listen(exporter.client.stream("StreamIsActive", ref));
    exporter.predictor.serve(plan(1, 0));
    await exporter.listWhen("the first plan", ({ recommendations }) => recommendations.length === 1);
    expect(activity()).toEqual([]);
    exporter.predictor.serve(plan(2, 2));
    await until("the activation", () => activity().length > 0);
    expect(activity()).toEqual([true]);
    expect(end.code).toBeUndefined();
  });

  it("stays silent when the predictor goes silent: what is not known has not changed", async () => {
    const exporter = await runningExporter(plan(1, 5), { staleAfter: 5 });
    const { activity, end } = listen(exporter.client.stream("StreamIsActive", ref));
    await until("the state on opening", () => activity().length === 1);
    await exporter.predictor.stop();
    await exporter.listWhen("the decision to expire", ({ recommendations }) => !recommendations[0]!.valid);
    expect(activity()).toEqual([true]);
    expect(end.code).toBeUndefined();
  });

  it("is refused with INVALID_ARGUMENT when the metadata names no service", async () => {
    const exporter = await runningExporter(plan(1, 5));
    const { end } = listen(exporter.client.stream("StreamIsActive", { name: "so", namespace: "shop" }));
    await until("the refusal", () => end.code !== undefined);
    expect(end.code).toBe(status.INVALID_ARGUMENT);
  });

  it("ends cleanly when its time is up, so that the client connects anew", async () => {
    const exporter = await runningExporter(plan(1, 5), { scaler: { streamLifetimeMs: 50 } });
    const { end } = listen(exporter.client.stream("StreamIsActive", ref));
    await until("the end", () => end.code !== undefined);
    expect(end.code).toBe(status.OK);
  });

  it("ends cleanly when the exporter stops", async () => {
    const exporter = await runningExporter(plan(1, 5));
    const { activity, end } = listen(exporter.client.stream("StreamIsActive", ref));
    await until("the state on opening", () => activity().length === 1);
    await exporter.running.stop();
    await until("the end", () => end.code !== undefined);
    expect(end.code).toBe(status.OK);
  });

  it("is held open a bounded number of times, and a closed one makes room again", async () => {
    const exporter = await runningExporter(plan(1, 5), { scaler: { maxStreams: 2 } });
    const first = exporter.client.stream("StreamIsActive", ref);
    const second = listen(exporter.client.stream("StreamMetricSpec", ref));
    await until("both to open", async () => /tradewind_keda_streams 2/.test(await exporter.metrics()));
    const third = listen(exporter.client.stream("StreamIsActive", ref));
    await until("the refusal", () => third.end.code !== undefined);
    expect(third.end.code).toBe(status.RESOURCE_EXHAUSTED);
    first.on("error", () => undefined);
    first.cancel();
    await until("the room", async () => /tradewind_keda_streams 1/.test(await exporter.metrics()));
    const fourth = listen(exporter.client.stream("StreamIsActive", ref));
    await until("its state", () => fourth.activity().length === 1);
    expect(second.end.code).toBeUndefined();
  });

  it("takes a place of the namespace that has the most streams of the same address", async () => {
    const exporter = await runningExporter(plan(1, 5), {
      scaler: { maxStreams: 8, maxStreamsPerAddress: 3 },
    });
    const many: ReturnType<typeof listen>[] = [];
    for (let index = 0; index < 3; index += 1) {
      many.push(listen(exporter.client.stream("StreamIsActive", { ...ref, namespace: "bank" })));
      const open = `tradewind_keda_streams ${index + 1}`;
      await until("it to open", async () => (await exporter.metrics()).includes(open));
    }
    const one = listen(exporter.client.stream("StreamIsActive", ref));
    await until("its state", () => one.activity().length === 1);
    await until("the end of the oldest", () => many[0]?.end.code !== undefined);
    expect(many.map(({ end }) => end.code)).toEqual([status.OK, undefined, undefined]);
  });
});

describe("StreamMetricSpec", () => {
  it("gives the same spec as GetMetricSpec at once and stays open", async () => {
    const exporter = await runningExporter(undefined);
    const { heard, end } = listen(exporter.client.stream("StreamMetricSpec", {}));
    await until("the spec", () => heard.length > 0);
    expect(heard.map(decodeMetrics)).toEqual([await exporter.client.metricSpec({})]);
    expect(end.code).toBeUndefined();
  });
});
