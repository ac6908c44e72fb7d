import { CheckedProposal, Proposal } from "@tradewind/core/contract/proposal.ts";
import type { PROPOSAL_VERDICTS } from "@tradewind/core/contract/proposal.ts";
import { WhatIf } from "@tradewind/predictor/decide/cost/price/what-if.ts";
import { checkProposal } from "@tradewind/predictor/answers/reason/check-proposal.ts";
import type { ProposalContext } from "@tradewind/predictor/answers/reason/check-proposal.ts";
import { proposalsOf } from "@tradewind/predictor/answers/reason/proposals-of-plan.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { wishOf } from "../../../exporter/wish.ts";
import { chain, queueing, service, size } from "../../decide/priced.ts";

const NOW_MS = Date.parse("2026-03-02T08:00:00Z");
const wish = (name: string, replicas = 2) =>
  wishOf({
    service: name,
    evidence: { baseReplicas: replicas, baseCpuCores: 1, baseMemoryBytes: 1e9, needReplicas: 1 },
  });

/** One route through `search`, whose tail is 75 ms at two containers of one core; the objective is 60 ms. */
const models = (): WhatIf =>
  new WhatIf(() =>
    chain([service("search", { own: queueing(0.03, 0.02), base: size(2) })], {}, { objectiveSeconds: 0.06 }),
  );

const context = (extra: Partial<ProposalContext> = {}): ProposalContext => ({
  plan: { namespace: "shop", windowSeconds: 15, wishes: [wish("search"), wish("ads", 4)] },
  isMissed: true,
  models: models(),
  budgetPods: undefined,
  nowMs: NOW_MS,
  confidenceOf: () => 61,
  ...extra,
});

const GOOD = {
  name: "search-shop-main",
  time: "2026-03-02T09:00:00+01:00",
  rules: ["scale"],
  configuration: { replicas: 3 },
  reason: "the queue grows",
};
const check = (part: object, extra: Partial<ProposalContext> = {}): CheckedProposal =>
  CheckedProposal.parse(checkProposal({ ...GOOD, ...part }, context(extra)));

describe("a proposal in InfraLLM's form", () => {
  it("is kept where the live models expect it to end the miss: a third container takes 75 to 50 of 60 ms", () => {
    const kept = check({ confidence: 87 });
    expect(kept).toMatchObject({
      verdict: "kept",
      service: "search",
      now: { replicas: 2 },
      then: { replicas: 3 },
      confidence: 61,
      claimedConfidence: 87,
    });
    expect(kept.counterfactual!.ratioBefore).toBeCloseTo(1.25, 9);
    expect(kept.counterfactual!.ratioAfter).toBeCloseTo(5 / 6, 9);
    expect(kept.counterfactual!.costAfterPerHour).toBeGreaterThan(kept.counterfactual!.costBeforePerHour);
  });

  it("is read as the paper prints it: createInstance on a host is one replica more", () => {
    const printed = {
      name: "search-shop-main",
      time: "2026-03-02T00:00:00.000-08:00",
      rules: ["createInstance", "hostname"],
      configuration: { cpu: 2, memory: "24Gi", storage: "nvme", network: "100GbE" },
      reason: "Predicted traffic spike based on historical pattern",
    };
    expect(checkProposal(printed, context())).toMatchObject({
      verdict: "kept",
      then: { replicas: 3, cpuCores: 1 },
    });
  });

  it("may be null, which proposes nothing", () => {
    expect(checkProposal(null, context())).toMatchObject({ verdict: "nothing" });
  });

  it("may be a floor, which changes nothing where there is more", () => {
    const until = "2026-03-02T11:00:00+01:00";
    expect(check({ rules: ["floor"], until }).verdict).toBe("kept");
    expect(check({ rules: ["floor"], until, configuration: { replicas: 1 } }).verdict).toBe("nothing");
  });

  it("may shrink while the objective is met, as long as the models expect it to stay so", () => {
    const calm = {
      isMissed: false,
      models: new WhatIf(() =>
        chain(
          [service("search", { own: queueing(0.03, 0.02), base: size(3) })],
          {},
          { objectiveSeconds: 0.08 },
        ),
      ),
      plan: { namespace: "shop", wishes: [wish("search", 3)] },
    };
    expect(check({ configuration: { replicas: 2 } }, calm).verdict).toBe("kept");
    const tight = {
      ...calm,
      models: new WhatIf(() =>
        chain(
          [service("search", { own: queueing(0.03, 0.02), base: size(3) })],
          {},
          { objectiveSeconds: 0.06 },
        ),
      ),
    };
    expect(check({ configuration: { replicas: 2 } }, tight).verdict).toBe("model-disagrees");
  });

  const SOON = "2026-03-02T09:30:00+01:00";
  const SAMPLE = { rules: ["sample"], until: SOON, configuration: { sampleSeconds: 2 } };

  it("may ask for finer sampling for a time, which needs no model", () => {
    expect(check(SAMPLE, { models: undefined })).toMatchObject({
      verdict: "kept",
      service: "search",
      sampling: { seconds: 2, untilMs: Date.parse(SOON) },
    });
    expect(check(SAMPLE)).not.toHaveProperty("then");
  });

  it("for another node is answered with the classes of nodes that have what it asks for", () => {
    const speed = { speed: 1, comparisons: 0, isReference: true, isCounted: true };
    const classes = () => [
      { ...speed, nodeClass: "new.large", storage: "nvme" as const, networkBytesPerSecond: 1.25e9 },
      { ...speed, nodeClass: "old.large", storage: "hdd" as const },
    ];
    const place = (storage: string) =>
      check({ rules: ["place"], configuration: { storage } }, { classes }).why;
    expect(place("nvme")).toMatch(/there are new\.large \(nvme, 10 Gbit\/s\)$/);
    expect(place("ssd")).toMatch(/no class of nodes is known to have ssd$/);
  });

  const HOSTILE: readonly (readonly [string, object, (typeof PROPOSAL_VERDICTS)[number]])[] = [
    ["an unknown field", { command: "kubectl delete ns shop" }, "format"],
    ["no time", { time: "tomorrow" }, "format"],
    ["a time without its zone", { time: "2026-03-02T09:00:00" }, "format"],
    ["an unknown rule", { rules: ["delete"] }, "format"],
    ["a host name without createInstance", { rules: ["scale", "node-1"] }, "format"],
    ["half a replica", { configuration: { replicas: 2.5 } }, "format"],
    ["-1 replicas", { configuration: { replicas: -1 } }, "format"],
    ["NaN replicas", { configuration: { replicas: Number.NaN } }, "format"],
    ["replicas as text", { configuration: { replicas: "3" } }, "format"],
    ["no replicas to scale to", { configuration: {} }, "format"],
    ["memory that is no quantity", { rules: ["resize"], configuration: { memory: "lots" } }, "format"],
    ["a floor without its end", { rules: ["floor"] }, "format"],
    ["a confidence of 1000", { confidence: 1_000 }, "format"],
    ["another service", { name: "kube-dns-kube-system-main" }, "no-such-service"],
    ["another namespace", { target: { service: "search", namespace: "other" } }, "no-such-service"],
    ["a target that is not planned", { target: { service: "__proto__" } }, "no-such-service"],
    ["a time of yesterday", { time: "2026-03-01T09:00:00+01:00" }, "untimely"],
    ["a time in a week", { time: "2026-03-09T09:00:00+01:00" }, "untimely"],
    ["an end before its begin", { until: "2026-03-02T08:30:00+01:00" }, "untimely"],
    ["the size that there is", { configuration: { replicas: 2 } }, "nothing"],
    ["hold", { rules: ["hold"] }, "nothing"],
    ["0 replicas", { configuration: { replicas: 0 } }, "out-of-bounds"],
    ["100 replicas", { configuration: { replicas: 100 } }, "out-of-bounds"],
    ["9 replicas at once", { configuration: { replicas: 9 } }, "unsafe"],
    ["1 replica in a miss", { configuration: { replicas: 1 } }, "unsafe"],
    ["a third of the CPU in a miss", { rules: ["resize"], configuration: { cpu: 0.3 } }, "unsafe"],
    ["three times the CPU", { rules: ["resize"], configuration: { cpu: 3 } }, "unsafe"],
    ["a petabyte", { rules: ["resize"], configuration: { memory: "1Pi" } }, "out-of-bounds"],
    ["more memory alone", { rules: ["resize"], configuration: { memory: "1500M" } }, "no-model"],
    ["finer sampling without an interval", { rules: ["sample"], until: SOON, configuration: {} }, "format"],
    ["finer sampling without an end", { rules: ["sample"], configuration: { sampleSeconds: 1 } }, "format"],
    ["finer sampling of half a second", { ...SAMPLE, configuration: { sampleSeconds: 0.5 } }, "format"],
    ["finer sampling beside another rule", { ...SAMPLE, rules: ["sample", "scale"] }, "format"],
    ["finer sampling for a day", { ...SAMPLE, until: "2026-03-03T09:00:00+01:00" }, "untimely"],
    ["another node", { rules: ["place"], configuration: { storage: "nvme" } }, "no-model"],
    ["more of a service without a model", { name: "ads-shop", configuration: { replicas: 5 } }, "no-model"],
  ];

  it.each(HOSTILE)("with %s gets its verdict: %o is %s", (_what, part, verdict) => {
    expect(check(part)).toMatchObject({ verdict });
  });

  it("is refused where its name fits two services, and taken with a target", () => {
    const plan = { namespace: "shop", wishes: [wish("search"), wish("search-shop")] };
    expect(check({ name: "search-shop-shop-main" }, { plan }).verdict).toBe("ambiguous-name");
    const target = { service: "search" };
    expect(check({ name: "search-shop-shop-main", target }, { plan }).verdict).toBe("kept");
  });

  it("is refused below the CPU need, beyond the budget, and where a quota has no room", () => {
    const busy = wish("search", 3);
    const needs = { ...busy, evidence: { ...busy.evidence, needReplicas: 3 } };
    const plan = { namespace: "shop", wishes: [needs] };
    expect(check({ configuration: { replicas: 2 } }, { plan, isMissed: false }).verdict).toBe("below-need");
    expect(check({}, { budgetPods: 6 }).verdict).toBe("out-of-bounds");
    expect(check({}, { budgetPods: 7 }).verdict).toBe("kept");
    const room = (cpuRequestCores: number) => ({
      quotas: [{ name: "team", left: { cpuRequestCores } }],
      pods: [{ service: "search", takes: { cpuRequestCores: 0.5, pods: 1 } }],
    });
    expect(check({}, { plan: { ...context().plan, room: room(0.4) } }).verdict).toBe("no-room");
    expect(check({}, { plan: { ...context().plan, room: room(0.5) } }).verdict).toBe("kept");
  });

  it("has no-model without live models", () => {
    expect(check({}, { models: undefined }).verdict).toBe("no-model");
  });

  it("moves no number of the models and never throws, whatever it is", () => {
    const asked = models();
    const before = asked.tailSeconds;
    const junk = fc.anything({ withBigInt: true, withNullPrototype: true, withDate: true });
    const fields = fc.record(
      Object.fromEntries(
        Object.keys(GOOD).map((key) => [key, fc.oneof(fc.constant(GOOD[key as keyof typeof GOOD]), junk)]),
      ),
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(junk, fields), (value) => {
        CheckedProposal.parse(checkProposal(value, context({ models: asked })));
        expect(asked.tailSeconds).toBe(before);
        expect(asked.sizeOf("search")).toEqual(models().sizeOf("search"));
      }),
      { numRuns: 300 },
    );
  });
});

describe("the proposals of a plan", () => {
  it("are of the services that get another size, in the form that is read", () => {
    const still = wishOf({
      service: "ads",
      evidence: { baseReplicas: 5, baseCpuCores: 0.6, baseMemoryBytes: 200e6 },
    });
    const grows = wishOf({ evidence: { baseReplicas: 3, baseCpuCores: 0.5, baseMemoryBytes: 200e6 } });
    const proposals = proposalsOf({ plannedAtMs: NOW_MS, wishes: [still, grows] }, () => 40.4);
    expect(proposals).toEqual([
      {
        name: "search-shop",
        target: { service: "search", namespace: "shop" },
        time: "2026-03-02T08:00:00.000Z",
        rules: ["scale", "resize"],
        configuration: { replicas: 5, cpu: 0.6 },
        confidence: 40,
        reason: "share of the estimated queue",
      },
    ]);
    expect(Proposal.parse(JSON.parse(JSON.stringify(proposals[0])))).toEqual(proposals[0]);
  });
});
