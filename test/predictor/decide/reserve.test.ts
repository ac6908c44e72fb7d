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

const leastOf = (
  services: readonly ServiceToSize[],
  cpuCores: number | undefined,
  comingCores: number | undefined = 20,
): number[] =>
  withReserves(services, { comingCores, ...(cpuCores !== undefined && { allNodes: { cpuCores } }) }, 0.5).map(
    ({ floor }) => floor.replicas,
  );

describe("a reserve for surges that find no node", () => {
  it("makes pods half busy where nodes come late and today's hold it, but not twice what runs", () => {
    expect(leastOf([web()], 3.5)).toEqual([3]);
    expect(leastOf([web(), web()], 7)).toEqual([3, 3]);
  });

  it("is none where pods could start on today's nodes, and where it would call for a node", () => {
    expect(leastOf([web()], 4)).toEqual([2]);
    expect(leastOf([web()], 2.9)).toEqual([2]);
    expect(leastOf([web(), web()], 5.9)).toEqual([2, 2]);
  });

  it("is none where no node can come, and where nodes are not known", () => {
    expect(withReserves([web()], { allNodes: { cpuCores: 3.5 } }, 0.5)).toEqual([
      expect.objectContaining({ floor: size(2) }),
    ]);
    expect(leastOf([web()], undefined)).toEqual([2]);
  });

  it("ends at the service's bounds, and is none of containers that can be made larger", () => {
    expect(leastOf([web({ ceiling: size(2) })], 3.5)).toEqual([2]);
    expect(leastOf([web({ stepCpuCores: 0.2 })], 3.5)).toEqual([2]);
  });
});
