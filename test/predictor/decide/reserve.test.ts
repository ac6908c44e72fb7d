import { withReserves } from "@tradewind/predictor/decide/cost/prepare/reserve.ts";
import type { ServiceToSize } from "@tradewind/predictor/decide/cost/price/cost-inputs.ts";
import { describe, expect, it } from "vitest";
import { service, size } from "./priced.ts";

/** Two pods of a core that may be ten, for a load of 1.4 cores: three of them are half busy. */
const web = (overrides: Partial<ServiceToSize> = {}): ServiceToSize =>
  service("web", {
    base: size(2),
    floor: size(2),
    ceiling: size(10),
    demand: { cores: 1.4, neededCores: 1.4, roomyReplicas: 0, isUnlimited: false },
    ...overrides,
  });

const leastOf = (services: readonly ServiceToSize[], cpuCores: number | undefined, loadRatio = 1): number[] =>
  withReserves(services, cpuCores === undefined ? {} : { allNodes: { cpuCores } }, {
    surge: 3,
    targetUtilisation: 0.5,
    loadRatio,
  }).map(({ floor }) => floor.replicas);

describe("a reserve for surges that nodes are too small for", () => {
  it("makes pods half busy where today's nodes hold that, but not thrice what runs", () => {
    expect(leastOf([web()], 5.9)).toEqual([3]);
    expect(leastOf([web(), web()], 7)).toEqual([3, 3]);
  });

  it("is none where the pods of a surge could start, and where nodes do not hold the reserve of all", () => {
    expect(leastOf([web()], 6)).toEqual([2]);
    expect(leastOf([web()], 2.9)).toEqual([2]);
    expect(leastOf([web(), web()], 5.9)).toEqual([2, 2]);
  });

  it("is for the usual load: a surge that has come needs none for itself", () => {
    expect(leastOf([web()], 5.9, 0.5)).toEqual([2]);
  });

  it("is none where nodes are not known", () => {
    expect(leastOf([web()], undefined)).toEqual([2]);
  });

  it("ends at the service's bounds, and is none of containers that can be made larger", () => {
    expect(leastOf([web({ ceiling: size(2) })], 3.5)).toEqual([2]);
    expect(leastOf([web({ stepCpuCores: 0.2 })], 3.5)).toEqual([2]);
  });
});
