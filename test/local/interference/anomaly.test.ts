import { describe, expect, it } from "vitest";
import { ANOMALY_RESOURCES, bearable, planAnomaly } from "@tradewind/local/interference/anomaly.ts";
import type { AnomalyResource } from "@tradewind/local/interference/anomaly.ts";
import { noiseOf } from "@tradewind/local/interference/programs.ts";

const GIB = 2 ** 30;
const LARGE = { cpuCores: 8, memoryBytes: 16 * GIB, memoryAvailableBytes: 15 * GIB };
const SMALL = { cpuCores: 2, memoryBytes: 4 * GIB, memoryAvailableBytes: 2 * GIB };
const SINGLE = { cpuCores: 1, memoryBytes: 1 * GIB, memoryAvailableBytes: 0.9 * GIB };

describe("planAnomaly", () => {
  it.each([0, 0.29, 0.81, 1, -0.5, Number.NaN, Number.POSITIVE_INFINITY])(
    "refuses an intensity of %d",
    (intensity) => {
      expect(() => planAnomaly("cpu", intensity, LARGE)).toThrow("between 0.3 and 0.8");
    },
  );

  it.each(ANOMALY_RESOURCES)("lets a large machine bear %s at either end", (resource) => {
    for (const intensity of [0.3, 0.8])
      expect(planAnomaly(resource, intensity, LARGE)).toMatchObject({ resource, intensity });
  });

  it.each<[AnomalyResource, number, typeof SMALL, string]>([
    ["cpu", 0.8, SMALL, "would take 1.60 of 2 cores and leave less than 0.5; use --intensity 0.75 or less"],
    ["cpu", 0.6, SINGLE, "use --intensity 0.5 or less"],
    ["bandwidth", 0.3, SINGLE, "use a machine with more cores"],
    ["network", 0.6, SINGLE, "use a machine with more cores"],
    // 2 GiB are available, 512 MiB must stay: 1.5 of 4 GiB can be taken.
    [
      "memory",
      0.5,
      SMALL,
      "would take 2.0 GiB of the 2.0 GiB that are available, and 512.0 MiB must stay free; use --intensity 0.37",
    ],
    ["memory", 0.5, SINGLE, "use --intensity 0.4 or less"],
    ["memory", 0.3, { ...SMALL, memoryAvailableBytes: 1 * GIB }, "free some memory first"],
  ])("refuses %s at %d where it would take the machine down", (resource, intensity, machine, why) => {
    expect(() => planAnomaly(resource, intensity, machine)).toThrow(why);
  });

  it("bears what is not refused, and says how much", () => {
    expect(bearable(LARGE)).toEqual({ cpu: 0.8, memory: 0.8, bandwidth: 0.8, network: 0.8, disk: 0.8 });
    expect(bearable(SINGLE)).toEqual({ cpu: 0.5, memory: 0.3, bandwidth: 0, network: 0.5, disk: 0.8 });
  });

  it("takes exactly what it may", () => {
    expect(planAnomaly("cpu", 0.75, SMALL).cpuCores).toBe(1.5);
    expect(planAnomaly("memory", 0.3, SMALL).memoryBytes).toBe(Math.round(0.3 * 4 * GIB));
  });
});

describe("noiseOf without stress-ng and iperf3", () => {
  const options = { seconds: 3, machine: SMALL, searchPath: "", port: 0, copyBytesPerSecond: 1e9 };

  it("shares CPU out over as many hogs as it takes", () => {
    const { source, programs } = noiseOf(planAnomaly("cpu", 0.7, SMALL), options);
    expect(source).toBe("built-in hog");
    const orders = programs.map(({ args }) => JSON.parse(args.at(-1)!) as object);
    expect(orders).toEqual([
      { kind: "cpu", seconds: 3, duty: 0.7 },
      { kind: "cpu", seconds: 3, duty: 0.7 },
    ]);
  });

  it("writes to a disk for a share of the time, whatever is installed", () => {
    const { programs } = noiseOf(planAnomaly("disk", 0.4, SMALL), { ...options, searchPath: "/usr/bin" });
    expect(programs.map(({ args }) => JSON.parse(args.at(-1)!) as object)).toEqual([
      { kind: "disk", seconds: 3, duty: 0.4 },
    ]);
  });

  it("never holds memory that must stay free", () => {
    const [program] = noiseOf(planAnomaly("memory", 0.3, SMALL), options).programs;
    expect(JSON.parse(program!.args.at(-1)!)).toMatchObject({
      kind: "memory",
      bytes: Math.round(0.3 * 4 * GIB),
      leaveBytes: 512 * 2 ** 20,
    });
  });
});
