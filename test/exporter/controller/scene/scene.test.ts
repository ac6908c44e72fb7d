import { makeScene } from "@tradewind/exporter/controller/scene/scene.ts";
import { describe, expect, it } from "vitest";
import { waitUntil } from "../../../wait-until.ts";
import { watchedShop } from "./watched-shop.ts";

describe("what the leader knows of a service", () => {
  it("is that its requests may be a scale point once HPAs can be read no more", async () => {
    const { clock, fake, namespaces } = await watchedShop(["workloads"]);
    const list = { recommendations: [] } as unknown as Parameters<typeof makeScene>[0];
    const scalePoints = () => makeScene(list, [], namespaces, clock).service("shop", "search")?.scalePoints;
    namespaces.want(["shop"]);
    await waitUntil(() => scalePoints()?.length === 0 && fake.openWatches === 6);
    fake.failNext(1_000, 403, { matches: ({ resource }) => resource === "horizontalpodautoscalers" });
    fake.dropWatches();
    await waitUntil(() => fake.calls.some(({ status }) => status === 403));
    clock.aheadMs = 61_000;
    await waitUntil(() => scalePoints()?.length === 2);
    expect(scalePoints()).toEqual(["cpu", "memory"]);
  });
});
