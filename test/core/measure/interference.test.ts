import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { Interference } from "@tradewind/core/contract/interference.ts";
import { COMPONENTS, interference } from "@tradewind/core/measure/interference.ts";
import type { NodeUse, OwnUse } from "@tradewind/core/measure/interference.ts";

const GIB = 1024 ** 3;

/** A quiet node of 4 CPUs, 16 GiB and a 10-Gbit/s link whose processor has resctrl. */
const IDLE: NodeUse = {
  cpuCores: 4,
  cpuBusyCores: 0.04,
  cpuWaitRatio: 0.001,
  stealRatio: 0,
  memoryTotalBytes: 16 * GIB,
  memoryAvailableBytes: 15.5 * GIB,
  memoryWaitRatio: 0,
  refaultsPerSecond: 0,
  bandwidthBytesPerSecond: 0.2e9,
  bandwidthPeakBytesPerSecond: 20e9,
  networkInterfaces: 1,
  linkUsedBytesPerSecond: 1e5,
  linkBytesPerSecond: 1.25e9,
  dropRatio: 0,
  packetsPerSecond: 200,
  retransmitRatio: 0,
  sentSegmentsPerSecond: 100,
};

function values(node: NodeUse, own?: OwnUse): Record<string, number | undefined> {
  const vector = Interference.parse(interference(node, own));
  return Object.fromEntries(COMPONENTS.map((name) => [name, vector[name].value]));
}

describe("situations", () => {
  test("idle: everything is low", () => {
    for (const value of Object.values(values(IDLE))) expect(value).toBeLessThan(0.05);
  });

  it.each([
    ["CPU hog", "cpu", { cpuBusyCores: 4, cpuWaitRatio: 0.6 }],
    ["steal by the hypervisor", "cpu", { stealRatio: 0.7 }],
    ["memory hog", "memoryCapacity", { memoryAvailableBytes: 2 * GIB, memoryWaitRatio: 0.3 }],
    ["thrashing page cache", "memoryCapacity", { refaultsPerSecond: 40_000 }],
    ["bandwidth hog", "memoryBandwidth", { bandwidthBytesPerSecond: 18e9 }],
    ["network hog", "network", { linkUsedBytesPerSecond: 1.1e9 }],
    ["lossy network", "network", { retransmitRatio: 0.05, sentSegmentsPerSecond: 5_000 }],
    ["full receive queues", "network", { dropRatio: 0.05, packetsPerSecond: 10_000 }],
  ] as const)("%s: %s rises, the others stay low", (_situation, raised, change) => {
    const { [raised]: high, ...others } = values({ ...IDLE, ...change });
    expect(high).toBeGreaterThan(0.6);
    for (const value of Object.values(others)) expect(value).toBeLessThan(0.05);
  });

  test("a container that uses everything itself is not disturbed by anyone", () => {
    const node = { ...IDLE, cpuBusyCores: 3, cpuWaitRatio: 0.5, linkUsedBytesPerSecond: 1e9 };
    const own = { cpuCores: 3, cpuWaitRatio: 0.5, receivedBytesPerSecond: 1e9, sentBytesPerSecond: 0 };
    expect(values(node, own)["cpu"]).toBe(0);
    expect(values(node, own)["network"]).toBeLessThan(0.001);
  });

  test("noisy neighbour: who makes the noise is less disturbed than who hears it", () => {
    const node = { ...IDLE, cpuBusyCores: 3.9, cpuWaitRatio: 0.5 };
    const noisy = values(node, { cpuCores: 3.4, cpuWaitRatio: 0.3 })["cpu"]!;
    const quiet = values(node, { cpuCores: 0.2, cpuWaitRatio: 0.3 })["cpu"]!;
    expect(noisy).toBeLessThan(0.2);
    expect(quiet).toBeGreaterThan(0.9);
  });

  test("throttling is the container's own doing: waiting for its own quota is no interference", () => {
    const node = { ...IDLE, cpuBusyCores: 1 };
    const throttled = values(node, { cpuCores: 0.5, cpuWaitRatio: 0.8, throttledRatio: 0.8 })["cpu"]!;
    const squeezed = values(node, { cpuCores: 0.5, cpuWaitRatio: 0.8, throttledRatio: 0 })["cpu"]!;
    // Others' half a core of four: 0.125. Squeezed: 1 - (1 - 0.125)(1 - 0.8 * 0.5) = 0.475.
    expect(throttled).toBeCloseTo(0.125, 10);
    expect(squeezed).toBeCloseTo(0.475, 10);
  });

  test("one lost segment of an idle node is no congestion", () => {
    const quiet = { ...IDLE, retransmitRatio: 0.5, sentSegmentsPerSecond: 2 };
    expect(values(quiet)["network"]).toBeLessThan(0.5);
  });
});

describe("packets dropped", () => {
  test("a frame that nobody handles each second, as switches send them, is no congestion", () => {
    for (const packetsPerSecond of [1, 100, 10_000, 1e6]) {
      const node = { ...IDLE, linkUsedBytesPerSecond: 0, dropRatio: 1 / packetsPerSecond, packetsPerSecond };
      expect(values(node)["network"]).toBeLessThan(0.05);
    }
  });

  test("1 % of 18,000 packets a second counts nine tenths: 0.9 % over 1.9 %", () => {
    const node = { ...IDLE, linkUsedBytesPerSecond: 0, dropRatio: 0.01, packetsPerSecond: 18_000 };
    expect(values(node)["network"]).toBeCloseTo(0.009 / 0.019, 12);
  });

  test("of an unknown number count in full", () => {
    const node = { ...IDLE, linkUsedBytesPerSecond: 0, dropRatio: 0.01, packetsPerSecond: undefined };
    expect(values(node)["network"]).toBe(0.5);
  });
});

describe("worked cases", () => {
  test("cpu: share 0.5, steal 0.1, wait 0.2 all laid to others", () => {
    const node = { ...IDLE, cpuBusyCores: 2, stealRatio: 0.1, cpuWaitRatio: 0.2 };
    expect(values(node)["cpu"]).toBeCloseTo(1 - 0.5 * 0.9 * 0.8, 12);
  });

  test("memory: 4 of 16 GiB used by others, no waits, 10,000 refaults a second", () => {
    const node = { ...IDLE, memoryAvailableBytes: 10 * GIB, refaultsPerSecond: 10_000 };
    const own = { memoryBytes: 2 * GIB };
    // Blame 4/6; refaults 0.5 * 4/6.
    expect(values(node, own)["memoryCapacity"]).toBeCloseTo(1 - 0.75 * (1 - 1 / 3), 12);
  });

  test("bandwidth: less what the container's own group moves", () => {
    const node = { ...IDLE, bandwidthBytesPerSecond: 15e9 };
    expect(values(node, { bandwidthBytesPerSecond: 5e9 })["memoryBandwidth"]).toBe(0.5);
  });

  test("network: the busiest link over its speed", () => {
    const node = { ...IDLE, linkUsedBytesPerSecond: 0.5e9 };
    expect(values(node)["network"]).toBeCloseTo(0.4, 10);
  });
});

describe("fallbacks", () => {
  test("nothing known is nothing told: unsupported, without a value", () => {
    const nothing = Object.fromEntries(
      Object.keys(IDLE).map((key) => [key, undefined]),
    ) as unknown as NodeUse;
    for (const component of Object.values(interference(nothing)))
      expect(component).toEqual({ supported: false });
  });

  test("a source that was read once is supported and has no value yet", () => {
    expect(interference({ ...IDLE, cpuBusyCores: undefined }).cpu).toEqual({ supported: true });
  });

  it.each([
    ["cpu", { cpuWaitRatio: undefined }, "others-share+steal"],
    ["cpu", { cpuCores: undefined }, "psi"],
    ["memoryCapacity", { memoryWaitRatio: undefined }, "others-share+refaults"],
    ["memoryCapacity", { memoryTotalBytes: undefined }, "psi"],
    ["network", { linkBytesPerSecond: undefined }, "loss"],
  ] as const)("%s without %j says so: %s", (name, change, source) => {
    expect(interference({ ...IDLE, ...change })[name]).toMatchObject({ supported: true, source });
  });

  test("without resctrl nothing on the node tells of memory bandwidth", () => {
    expect(interference({ ...IDLE, bandwidthBytesPerSecond: undefined }).memoryBandwidth).toEqual({
      supported: false,
    });
  });
});

const share = fc.double({ min: 0, max: 1, noNaN: true });
const maybe = (arbitrary: fc.Arbitrary<number>): fc.Arbitrary<number | undefined> =>
  fc.option(arbitrary, { nil: undefined });
const bytes = fc.double({ min: 0, max: 1e12, noNaN: true });
const anyNode: fc.Arbitrary<NodeUse> = fc.record({
  cpuCores: maybe(fc.integer({ min: 1, max: 512 })),
  cpuBusyCores: maybe(fc.double({ min: 0, max: 512, noNaN: true })),
  cpuWaitRatio: maybe(share),
  stealRatio: maybe(share),
  memoryTotalBytes: maybe(fc.double({ min: 1, max: 1e13, noNaN: true })),
  memoryAvailableBytes: maybe(bytes),
  memoryWaitRatio: maybe(share),
  refaultsPerSecond: maybe(bytes),
  bandwidthBytesPerSecond: maybe(bytes),
  bandwidthPeakBytesPerSecond: maybe(bytes),
  networkInterfaces: maybe(fc.nat(8)),
  linkUsedBytesPerSecond: maybe(bytes),
  linkBytesPerSecond: maybe(bytes),
  dropRatio: maybe(share),
  packetsPerSecond: maybe(bytes),
  retransmitRatio: maybe(share),
  sentSegmentsPerSecond: maybe(bytes),
});
const anyOwn: fc.Arbitrary<OwnUse> = fc.record({
  cpuCores: maybe(fc.double({ min: 0, max: 512, noNaN: true })),
  cpuWaitRatio: maybe(share),
  throttledRatio: maybe(fc.double({ min: 0, max: 64, noNaN: true })),
  memoryBytes: maybe(bytes),
  memoryWaitRatio: maybe(share),
  bandwidthBytesPerSecond: maybe(bytes),
  receivedBytesPerSecond: maybe(bytes),
  sentBytesPerSecond: maybe(bytes),
});

describe("for any use", () => {
  test("the vector keeps the contract: in [0, 1], and no value where unsupported", () => {
    fc.assert(
      fc.property(anyNode, anyOwn, (node, own) => {
        for (const { supported, value } of Object.values(Interference.parse(interference(node, own)))) {
          expect(supported || value === undefined).toBe(true);
        }
      }),
    );
  });

  it.each([
    "cpuBusyCores",
    "cpuWaitRatio",
    "stealRatio",
    "memoryWaitRatio",
    "refaultsPerSecond",
    "dropRatio",
  ] as const)("more %s never lowers a component", (key) => {
    fc.assert(
      fc.property(anyNode, anyOwn, share, (node, own, more) => {
        const before = node[key];
        if (before === undefined) return;
        const a = interference(node, own);
        const b = interference({ ...node, [key]: before + more * (before + 1) }, own);
        for (const name of COMPONENTS) {
          expect((b[name].value ?? 0) - (a[name].value ?? 0)).toBeGreaterThanOrEqual(-1e-12);
        }
      }),
    );
  });

  test("using more oneself never raises what others do in CPU and bandwidth", () => {
    fc.assert(
      fc.property(anyNode, anyOwn, share, (node, own, more) => {
        const a = interference(node, own);
        const b = interference(node, {
          ...own,
          cpuCores: (own.cpuCores ?? 0) + more,
          bandwidthBytesPerSecond: (own.bandwidthBytesPerSecond ?? 0) + more * 1e9,
        });
        expect((a.cpu.value ?? 0) - (b.cpu.value ?? 0)).toBeGreaterThanOrEqual(-1e-12);
        expect((a.memoryBandwidth.value ?? 0) - (b.memoryBandwidth.value ?? 0)).toBeGreaterThanOrEqual(
          -1e-12,
        );
      }),
    );
  });
});
