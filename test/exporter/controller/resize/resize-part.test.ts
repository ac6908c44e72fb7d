import type { SceneApplication } from "@tradewind/exporter/controller/scene/part.ts";
import { makeScene } from "@tradewind/exporter/controller/scene/scene.ts";
import { ResizePart } from "@tradewind/exporter/controller/resize/resize-part.ts";
import { SettledSizes } from "@tradewind/exporter/controller/sizing/settled-sizes.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { expect, it } from "vitest";
import { watchedShop } from "../scene/watched-shop.ts";
import { podOf, replicaSet } from "../../../kubernetes/cluster-objects.ts";
import { silentLog } from "../../../kubernetes/silent-log.ts";
import { waitUntil } from "../../../wait-until.ts";
import { runningExporter } from "../../running-exporter.ts";
import { planOf, wishOf } from "../../wish.ts";

const WATCHES = 7;

it("a pod that was refused another size is left alone also after a time in which its workload was not known", async () => {
  const { client, clock, fake, namespaces } = await watchedShop(["workloads", "inPlaceResize"], {
    absentMs: 50,
    vpas: true,
  });
  fake.put(RESOURCES.replicaSets, replicaSet("search-abc12", "search"));
  fake.put(RESOURCES.pods, podOf("search", 0, { requests: { cpu: "200m", memory: "128Mi" } }));
  fake.failNext(1, 422, { matches: ({ resource }) => resource === "pods/resize", reason: "Invalid" });
  const { list } = await runningExporter(planOf([wishOf({ confidence: 0.9 })]));
  const recommended = await list();
  const header = { mode: "act" } as SceneApplication["header"];
  const place = { namespace: "shop", name: "hotel" };
  const sizes = new SettledSizes();
  const part = new ResizePart({
    client,
    sizes,
    recorder: undefined,
    log: silentLog,
    onResult: () => undefined,
  });
  const round = async (): Promise<void> => {
    sizes.record(recommended, clock.monotonicMs());
    const scene = makeScene(recommended, [{ place, header, list: recommended }], namespaces, clock);
    await part.reconcile(scene, AbortSignal.timeout(20_000));
  };
  const asked = (): number => fake.calls.filter(({ resource }) => resource === "pods/resize").length;
  const isKnown = (): boolean => namespaces.get("shop")?.workloads.isFresh(60_000) === true;

  namespaces.want(["shop"]);
  await waitUntil(() => fake.openWatches === WATCHES);
  await round();
  expect(asked()).toBe(1);

  fake.failNext(1_000, 403, { matches: ({ resource }) => resource === "deployments" });
  fake.dropWatches();
  await waitUntil(() => fake.calls.some(({ status }) => status === 403));
  clock.aheadMs = 61_000;
  await waitUntil(() => !isKnown());
  await round();
  fake.clearFaults();
  await waitUntil(() => isKnown() && fake.openWatches === WATCHES);
  await round();
  expect(asked()).toBe(1);
});
