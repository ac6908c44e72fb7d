import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applicableSize } from "@tradewind/local/application/container-size.ts";

const MIB = 2 ** 20;
const size = (cpuCores: number, mebibytes: number) => ({ cpuCores, memoryBytes: mebibytes * MIB });

describe("applicableSize", () => {
  it.each([
    { why: "room enough", wanted: 160, current: 256, resident: 80, given: 160 },
    // 140 and 16 of headroom, rounded up to a multiple of 16.
    { why: "below what is resident", wanted: 128, current: 256, resident: 140, given: 160 },
    { why: "more is always possible", wanted: 320, current: 256, resident: 250, given: 320 },
    {
      why: "resident close to the limit: the limit stays",
      wanted: 128,
      current: 160,
      resident: 158,
      given: 160,
    },
    { why: "no raise that nobody asked for", wanted: 160, current: 160, resident: 158, given: 160 },
  ])("gives $given MiB for $wanted of $current with $resident resident: $why", (row) => {
    expect(applicableSize(size(0.2, row.wanted), size(0.1, row.current), row.resident * MIB)).toEqual(
      size(0.2, row.given),
    );
  });

  it("never sets a limit below what is resident unless it was below already, and moves towards what is wanted", () => {
    const bytes = fc.integer({ min: 1, max: 2 ** 40 });
    fc.assert(
      fc.property(bytes, bytes, bytes, (wanted, current, resident) => {
        const { memoryBytes } = applicableSize(
          { cpuCores: 1, memoryBytes: wanted },
          { cpuCores: 1, memoryBytes: current },
          resident,
        );
        expect(memoryBytes).toBeGreaterThanOrEqual(Math.min(resident, current, Math.max(wanted, current)));
        expect(memoryBytes).toBeGreaterThanOrEqual(Math.min(wanted, current));
        expect(memoryBytes).toBeLessThanOrEqual(Math.max(wanted, current));
      }),
    );
  });
});
