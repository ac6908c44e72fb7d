import type { Wish } from "@tradewind/core/contract/plan.ts";
import { tailPredictionError } from "@tradewind/predictor/learn/predicted-tail.ts";
import { decide } from "@tradewind/predictor/decide/ladder.ts";
import { describe, expect, it } from "vitest";
import { inputs } from "../measurements.ts";
import { chained } from "../decide/modelled.ts";
import type { ModelledService } from "../decide/modelled.ts";

const CART: ModelledService = {
  service: "frontend",
  replicas: 2,
  cores: 1,
  cpuSecondsPerRequest: 0.02,
  baseSeconds: 0.03,
  requestsPerSecond: 40,
};
const wishes: Wish[] = decide(inputs(chained([CART]))).plan.wishes.map((wish) =>
  Object.assign({}, wish, { latencyAfterSeconds: 0.05 }),
);

describe("the error of a predicted tail", () => {
  it("is what was measured a window later against what was predicted", () => {
    expect(wishes).toMatchObject([{ allocation: { replicas: 2 } }]);
    expect(tailPredictionError(wishes, chained([CART]), 0.04)).toBeCloseTo(0.25, 6);
  });

  it.each<{ what: string; service: ModelledService; measured: number | undefined }>([
    { what: "the replicas are not those wished", service: { ...CART, replicas: 3 }, measured: 0.04 },
    { what: "nothing was measured", service: CART, measured: undefined },
  ])("is not known when $what", ({ service, measured }) => {
    expect(tailPredictionError(wishes, chained([service]), measured)).toBeUndefined();
  });

  it("is not known when the containers have not got their size yet, nor without a prediction", () => {
    const resized = wishes.map((wish) =>
      Object.assign({ ...wish }, { allocation: { ...wish.allocation, cpuCores: 2 } }),
    );
    expect(tailPredictionError(resized, chained([CART]), 0.04)).toBeUndefined();
    expect(tailPredictionError([], chained([CART]), 0.04)).toBeUndefined();
  });
});
