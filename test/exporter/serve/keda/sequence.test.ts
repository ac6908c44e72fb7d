import { describe, expect, it, onTestFinished } from "vitest";
import { runningExporter } from "../../running-exporter.ts";
import { until } from "../../until.ts";
import { planOf, wishOf } from "../../wish.ts";
import { hpaReplicas } from "./hpa.ts";
import { KedaShapedClient } from "./keda.ts";
import type { Ref } from "./wire.ts";

const RULES = { target: 1, minReplicas: 1, maxReplicas: 100 };
const ref: Ref = { name: "so", namespace: "shop", metadata: { service: "search", scalerAddress: "x:1" } };

function kedaFor(...addresses: (string | undefined)[]): KedaShapedClient {
  const keda = new KedaShapedClient(addresses.filter((address) => address !== undefined));
  onTestFinished(() => keda.close());
  return keda;
}

const planWith = (replicas: number, sequence: number) =>
  planOf([wishOf({ allocation: { replicas }, bounds: { ...wishOf().bounds, maxReplicas: 100 } })], {
    sequence,
  });

describe("KEDA and the HPA on top of the scaler", () => {
  it("reach exactly the recommended replicas from anywhere, with the tolerance at 0", async () => {
    const exporter = await runningExporter(planWith(1, 1));
    const keda = kedaFor(exporter.running.addresses["grpc"]);
    for (const [index, wanted] of [1, 9, 10, 11, 99, 100, 50].entries()) {
      exporter.predictor.serve(planWith(wanted, index + 2));
      await exporter.listWhen("the plan", ({ recommendations }) => recommendations[0]!.replicas === wanted);
      const { spec, value, active } = await keda.poll(ref);
      const target = spec[0]!.float > 0 ? spec[0]!.float : spec[0]!.int;
      for (const current of [1, 10, 11, 53, 100]) {
        expect(hpaReplicas(value, current, { ...RULES, target, tolerance: 0 })).toBe(wanted);
      }
      expect(active).toBe(true);
    }
    expect(keda.counts).toEqual({ polls: 7, specFailures: 0, retries: 0, failures: 0 });
  });

  it("show in a metric when the default tolerance of 10 % would swallow a change", async () => {
    const observed = { replicasReady: 20, replicasWanted: 20, complete: true };
    const bounds = { ...wishOf().bounds, maxReplicas: 100 };
    const held = { 18: true, 19: true, 20: false, 21: true, 22: true, 17: false, 23: false };
    const wishes = Object.keys(held).map((replicas) =>
      wishOf({ service: `to-${replicas}`, allocation: { replicas: Number(replicas) }, observed, bounds }),
    );
    const exporter = await runningExporter(planOf(wishes));
    const metrics = await exporter.metrics();
    for (const [replicas, isHeld] of Object.entries(held)) {
      expect(hpaReplicas(Number(replicas), 20, { ...RULES, tolerance: 0.1 })).toBe(
        isHeld ? 20 : Number(replicas),
      );
      expect(metrics).toContain(
        `tradewind_held_by_hpa_tolerance{application="hotel",namespace="shop",service="to-${replicas}"} ${Number(isHeld)}`,
      );
    }
  });

  it("freeze, and never scale to the minimum, while the scaler does not know", async () => {
    const exporter = await runningExporter(planWith(5, 1), { staleAfter: 5 });
    const keda = kedaFor(exporter.running.addresses["grpc"]);
    expect((await keda.poll(ref)).value).toBe(5);
    await exporter.predictor.stop();
    const polls: number[] = [];
    await until("the scaler to say it does not know", () =>
      keda.poll(ref).then(
        ({ value }) => {
          polls.push(value);
          return false;
        },
        () => true,
      ),
    );
    expect(new Set(polls)).toEqual(new Set([5]));
    expect(keda.counts.specFailures).toBe(0);
  });

  it("get the same numbers from two exporters, and every spec while one of them lives", async () => {
    const first = await runningExporter(planWith(7, 1));
    const second = await runningExporter(planWith(7, 1), { predictor: first.predictor.url });
    const [one, two] = [first.running.addresses["grpc"], second.running.addresses["grpc"]];
    const keda = kedaFor(one, two);
    for (let poll = 0; poll < 10; poll += 1) expect((await keda.poll(ref)).value).toBe(7);
    await first.running.stop();
    for (let poll = 0; poll < 10; poll += 1) expect((await keda.poll(ref)).value).toBe(7);
    expect(keda.counts.failures).toBe(0);
  });

  it("wake a workload from zero and let it go back, only on a decision to do so", async () => {
    const idle = (replicas: number, sequence: number) =>
      planOf([wishOf({ allocation: { replicas }, bounds: { ...wishOf().bounds, minReplicas: 0 } })], {
        sequence,
      });
    const exporter = await runningExporter(idle(0, 1));
    const keda = kedaFor(exporter.running.addresses["grpc"]);
    expect(await keda.poll(ref)).toMatchObject({ active: false, value: 0 });
    exporter.predictor.serve(idle(2, 2));
    await exporter.listWhen("work", ({ recommendations }) => recommendations[0]!.replicas === 2);
    expect(await keda.poll(ref)).toMatchObject({ active: true, value: 2 });
  });
});
