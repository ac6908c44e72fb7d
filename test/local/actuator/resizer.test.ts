import { describe, expect, it } from "vitest";
import type { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { createResizer } from "@tradewind/local/actuator/resizer.ts";
import type { Resize } from "@tradewind/local/actuator/resizer.ts";
import { HOTEL } from "@tradewind/local/application/hotel.ts";
import type { ContainerSize } from "@tradewind/local/application/topology.ts";

const MIB = 2 ** 20;
const [definition] = HOTEL.services;

function listOf(recommended: object): RecommendationList {
  const recommendation = { service: "frontend", replicas: 1, valid: true, ...recommended };
  return { recommendations: [recommendation] } as unknown as RecommendationList;
}

function setUp() {
  let size: ContainerSize = { cpuCores: 0.12, memoryBytes: 256 * MIB };
  const calls: ContainerSize[] = [];
  const told: Resize[] = [];
  const resizer = createResizer(
    {
      states: () => [{ definition: definition!, replicasWanted: 1, size, ready: [], version: 1 }],
      async resize(service, to) {
        expect(service).toBe("frontend");
        calls.push(to);
        size = to;
      },
    },
    (resize) => told.push(resize),
  );
  return { resizer, calls, told };
}

describe("createResizer", () => {
  it("leaves a size that is only advised", async () => {
    const { resizer, calls } = setUp();
    await resizer.apply(listOf({ cpuCores: 0.18, memoryBytes: 512 * MIB, advised: ["cpu", "memory"] }));
    expect(calls).toEqual([]);
    await resizer.apply(listOf({ cpuCores: 0.18, memoryBytes: 512 * MIB, advised: ["memory"] }));
    expect(calls).toEqual([{ cpuCores: 0.18, memoryBytes: 256 * MIB }]);
  });

  it("carries out a recommended size once, and keeps what is left open", async () => {
    const { resizer, calls, told } = setUp();
    await resizer.apply(listOf({ cpuCores: 0.18 }));
    await resizer.apply(listOf({ cpuCores: 0.18 }));
    expect(calls.at(-1)).toEqual({ cpuCores: 0.18, memoryBytes: 256 * MIB });
    expect(told).toEqual([
      {
        service: "frontend",
        from: { cpuCores: 0.12, memoryBytes: 256 * MIB },
        to: { cpuCores: 0.18, memoryBytes: 256 * MIB },
      },
    ]);
  });

  it("stays within the service's bounds", async () => {
    const { resizer, calls } = setUp();
    await resizer.apply(listOf({ cpuCores: 64, memoryBytes: 1 }));
    await resizer.apply(listOf({ cpuCores: 1e-6, memoryBytes: 1e15 }));
    expect(calls).toEqual([
      { cpuCores: 1, memoryBytes: 128 * MIB },
      { cpuCores: 0.1, memoryBytes: 512 * MIB },
    ]);
  });

  it.each([
    ["there are no recommendations", undefined],
    ["they carry no size", listOf({})],
    ["they are no longer valid", listOf({ cpuCores: 0.3, valid: false })],
    ["they are for somebody else", listOf({ cpuCores: 0.3, service: "somebody" })],
  ])("does nothing when %s", async (_why, list) => {
    const { resizer, calls, told } = setUp();
    await resizer.apply(list);
    expect(calls).toEqual([]);
    expect(told).toEqual([]);
  });
});
