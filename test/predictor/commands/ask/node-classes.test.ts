import { NodeClassList } from "@tradewind/core/contract/node-classes.ts";
import type { Placement } from "@tradewind/core/contract/node-classes.ts";
import { inWords } from "@tradewind/predictor/commands/ask/node-classes.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Shop } from "../../shop.ts";

describe("a predictor asked for node classes", () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await Shop.open({ policy: "auto" });
    await shop.list(({ services }) => services.length === 2);
  }, 30_000);
  afterAll(async () => shop.close());

  it("has none where all nodes are alike, and says so", async () => {
    const answer = NodeClassList.parse(await (await shop.get("/v1/node-classes")).json());
    expect(answer).toMatchObject({ namespace: "default", classes: [], placements: [] });
    expect(inWords(answer)).toMatch(/^Nodes of one class only are known/);
    const metrics = await (await shop.get("/metrics")).text();
    expect(metrics).toContain("# TYPE tradewind_predictor_node_class_speed_ratio gauge");
    expect(metrics).not.toMatch(/^tradewind_predictor_node_class_speed_ratio\{/m);
  });
});

describe("node classes in words", () => {
  const placement: Placement = {
    service: "search",
    nodeClass: "m7i.large",
    cpuRatio: 0.75,
    latencySeconds: { now: 0.14, then: 0.118 },
    selfTimeSeconds: { now: 0.1, then: 0.08 },
    replicas: { now: 4, then: 3 },
    costPerHour: { now: 0.064, then: 0.048 },
    label: "tradewind.dev/node-class",
    patch: { spec: {} },
  };
  const list: NodeClassList = {
    schema: "tradewind.dev/node-classes/v1",
    application: "shop",
    namespace: "default",
    decidedAtMs: 0,
    objective: { percentile: 0.95, seconds: 0.2 },
    classes: [
      { nodeClass: "m7i.large", nodes: 2, speed: 1, comparisons: 0, isReference: true, isCounted: true },
      {
        nodeClass: "m5.large",
        speed: 0.61,
        lowSpeed: 0.59,
        highSpeed: 0.63,
        comparisons: 170,
        isReference: false,
        isCounted: true,
      },
      { nodeClass: "t3.large", speed: 1, comparisons: 0, isReference: false, isCounted: false },
    ],
    placements: [placement],
  };

  it("give each class with its interval, and each proposal with the cheaper size", () => {
    const text = inWords(list).split("\n");
    expect(text[0]).toMatch(/^m7i\.large {2}2 nodes +speed 1\.00 {2}reference$/);
    expect(text[1]).toMatch(/^m5\.large .*speed 0\.61 {2}0\.59 to 0\.63 from 170 comparisons$/);
    expect(text[2]).toMatch(/not measured yet$/);
    expect(text.at(-1)).toBe(
      "search on m7i.large: 0.75 times the CPU a request; p95 140 ms -> 118 ms with 4 replicas, or 3: 0.0640 -> 0.0480/h",
    );
  });

  it("name storage and network of the class in each proposal", () => {
    const hardware = { storage: "nvme", networkBytesPerSecond: 1.5625e9 } as const;
    const classes = list.classes.map((each) => ({ ...each, ...hardware }));
    expect(inWords({ ...list, classes })).toContain("search on m7i.large (nvme, 12.5 Gbit/s): 0.75 times");
  });

  it("say which label to set first where no platform names the class", () => {
    const text = inWords(list, true);
    expect(text).toContain("first: kubectl label node NAME tradewind.dev/node-class=m7i.large");
    expect(text).toContain(`kubectl patch deployment/search -n default --type merge -p '{"spec":{}}'`);
  });

  it("show what was measured since beside what was expected", () => {
    const measured = {
      windows: 40,
      cpuSecondsPerRequest: { now: 0.01, then: 0.0076 },
      selfTimeSeconds: { now: 0.1, then: 0.08 },
      replicas: { now: 4, then: 4 },
    };
    const text = inWords({ ...list, placements: [{ ...placement, measured }] });
    expect(text).toContain(
      "measured since, 40 windows: 0.76 times the CPU a request; self-time p95 100 ms -> 80 ms",
    );
    expect(inWords({ ...list, placements: [] })).toContain("No service is expected to gain");
  });
});
