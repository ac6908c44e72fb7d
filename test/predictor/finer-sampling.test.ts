import { ProposalCheck } from "@tradewind/core/contract/proposal.ts";
import { FinerSampling } from "@tradewind/predictor/run/application/finer-sampling.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitUntil } from "../wait-until.ts";
import { Shop } from "./shop.ts";

describe("a proposal for finer sampling", () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await Shop.open();
    await shop.list(({ services }) => services.length === 2);
  }, 30_000);
  afterAll(async () => shop.close());

  const proposal = (service: string) => ({
    name: `${service}-default-main`,
    time: new Date().toISOString(),
    until: new Date(Date.now() + 600_000).toISOString(),
    rules: ["sample"],
    configuration: { sampleSeconds: 2 },
    reason: "a spike is too short to be seen",
  });
  const send = async (path: string, service: string) =>
    ProposalCheck.parse(await (await shop.post(path, proposal(service))).json()).proposals[0];
  const asked = () => decodeURIComponent(shop.application.agent.lastAsked());

  it("asks agents for fresh figures of the pods of that service once it is asked for, not when it is checked", async () => {
    expect(await send("/v1/proposals", "geo")).toMatchObject({ verdict: "kept", sampling: { seconds: 2 } });
    const before = shop.application.agent.requests();
    await waitUntil(() => shop.application.agent.requests() > before + 2);
    expect(asked()).toBe("/v1/snapshot");
    expect(await send("/v1/proposals/ask", "geo")).toMatchObject({ verdict: "kept", service: "geo" });
    await waitUntil(() => asked().includes("fresh="));
    expect(asked()).toMatch(/^\/v1\/snapshot\?fresh=uid-geo-\d+:2(,uid-geo-\d+:2)*$/);
  });
});

describe("finer sampling", () => {
  const pod = (uid: string) => ({ uid }) as never;
  const workload = (service: string, namespace: string, ...uids: string[]) =>
    ({ service, namespace, pods: uids.map((uid) => pod(uid)) }) as never;
  const list = {
    workloads: [
      workload("cart", "shop", "c1", "c2"),
      workload("cart", "other", "o1"),
      workload("web", "shop", "w1"),
    ],
  } as never;
  const wish = { seconds: 2, fromMs: 1_000, untilMs: 2_000 };

  it("is of the pods of one service in its namespace, from its time to its end", () => {
    const finer = new FinerSampling();
    expect(finer.ask("cart", wish, 0)).toBe(true);
    const pods = (nowMs: number) => [...finer.pods(list, "shop", nowMs)];
    expect(pods(999)).toEqual([]);
    expect(pods(1_000)).toEqual([
      ["c1", 2],
      ["c2", 2],
    ]);
    expect(pods(2_000)).toEqual([]);
  });

  it("is of no more services at once than there is room for, until one is over", () => {
    const finer = new FinerSampling();
    for (let service = 0; service < 16; service += 1) finer.ask(`s${service}`, wish, 0);
    expect(finer.ask("cart", wish, 0)).toBe(false);
    expect(finer.ask("s3", wish, 0)).toBe(true);
    expect(finer.ask("cart", { ...wish, untilMs: 5_000 }, 2_000)).toBe(true);
  });
});
