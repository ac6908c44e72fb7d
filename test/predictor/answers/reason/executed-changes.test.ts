import {
  causeByChange,
  NOTHING_WATCHED,
  watchChange,
} from "@tradewind/predictor/answers/reason/executed-changes.ts";
import type { ExecutedChange, SizedWindow } from "@tradewind/predictor/answers/reason/executed-changes.ts";
import { describe, expect, it } from "vitest";

const TOLD: NonNullable<SizedWindow["told"]> = {
  atMs: 7,
  causes: [{ service: "cart", type: "C", confidence: 1, share: 1, evidence: [] }],
  counterfactuals: [
    {
      service: "cart",
      resource: "replicas",
      from: 2,
      to: 3,
      tailBeforeSeconds: 0.3,
      tailAfterSeconds: 0.1,
      outcome: "better",
      ends: true,
    },
  ],
};

const window = (
  part: Partial<SizedWindow> & { cart?: number; ads?: number; cores?: number },
): SizedWindow => {
  const { ads = 1, cart = 2, cores = 1, ...rest } = part;
  return {
    ratio: 1.5,
    load: 20,
    told: TOLD,
    sizes: { cart: { replicas: cart, cpuCores: cores }, ads: { replicas: ads } },
    ...rest,
  };
};

function follow(...windows: SizedWindow[]): ExecutedChange | undefined {
  let watch = NOTHING_WATCHED;
  let found: ExecutedChange | undefined;
  for (const each of windows) {
    const next = watchChange(watch, each);
    watch = next.watch;
    found = next.executed ?? found;
  }
  return found;
}

describe("a size that grew while the objective was missed", () => {
  it("is judged two windows later, beside what the models expected", () => {
    const grown = { cart: 3, told: undefined };
    expect(follow(window({}), window(grown))).toBeUndefined();
    expect(follow(window({}), window(grown), window(grown), window({ ...grown, ratio: 0.7 }))).toEqual({
      service: "cart",
      resource: "replicas",
      to: 3,
      atMs: 7,
      observed: "better",
      ends: true,
      expected: "better",
      named: ["cart"],
    });
  });

  it("did nothing where the latency is the same, and harm where it is higher", () => {
    const still = follow(
      window({}),
      window({ cart: 3 }),
      window({ cart: 3 }),
      window({ cart: 3, ratio: 1.49 }),
    );
    expect(still).toMatchObject({ observed: "same", ends: false });
    expect(
      follow(window({}), window({ cart: 3 }), window({ cart: 3 }), window({ cart: 3, ratio: 1.6 })),
    ).toMatchObject({ observed: "worse" });
  });

  it.each<[string, SizedWindow[]]>([
    [
      "the load changed by a fifth",
      [window({ cart: 3 }), window({ cart: 3 }), window({ cart: 3, load: 24, ratio: 0.5 })],
    ],
    [
      "another size changed with it",
      [window({ cart: 3, ads: 2 }), window({ cart: 3, ads: 2 }), window({ cart: 3, ads: 2, ratio: 0.5 })],
    ],
    ["a size fell", [window({ cart: 1 }), window({ cart: 1 }), window({ cart: 1, ratio: 0.5 })]],
    [
      "its latency is not known then",
      [window({ cart: 3 }), window({ cart: 3 }), window({ cart: 3, ratio: undefined })],
    ],
  ])("tells nothing where %s", (_why, windows) => {
    expect(follow(window({}), ...windows)).toBeUndefined();
  });

  it("tells nothing while the objective was met, or nothing was explained", () => {
    const after = [window({ cart: 3 }), window({ cart: 3 }), window({ cart: 3, ratio: 0.5 })];
    expect(follow(window({ ratio: 0.9 }), ...after)).toBeUndefined();
    expect(follow(window({ told: undefined }), ...after)).toBeUndefined();
  });

  it("has no expectation where the models were not asked of that resource", () => {
    const cores = { cores: 2 };
    expect(follow(window({}), window(cores), window(cores), window({ ...cores, ratio: 0.5 }))).toMatchObject({
      resource: "cpu",
      observed: "better",
      expected: undefined,
    });
  });
});

describe("the cause by a change that was carried out", () => {
  const change: ExecutedChange = {
    service: "cart",
    resource: "cpu",
    to: 2,
    atMs: 7,
    observed: "better",
    ends: false,
    expected: undefined,
    named: ["cart"],
  };

  it.each([
    ["what was named and helped", {}, "cart"],
    ["what was not named and ended the miss", { named: ["ads"], ends: true }, "cart"],
    ["unknown where what was not named only helped", { named: ["ads"] }, undefined],
    ["unknown where it did not help: it may have been too little", { observed: "same" as const }, undefined],
  ])("is %s", (_what, part, service) => {
    expect(causeByChange({ ...change, ...part })).toBe(service);
  });
});
