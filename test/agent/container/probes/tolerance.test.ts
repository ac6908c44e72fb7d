import { expect, test } from "vitest";
import { COLUMN } from "../../../../agent/container/columns.ts";
import type { ContainerColumn } from "../../../../agent/container/columns.ts";
import type { ProbeTarget } from "../../../../agent/container/probes/probe.ts";
import { ContainerRates } from "../../../../agent/container/rates.ts";
import { cpuToleranceCores, memoryToleranceBytes } from "../../../../agent/container/probes/tolerance.ts";

const MIB = 1024 * 1024;

function target(column: ContainerColumn, limit: number): ProbeTarget {
  const values = new Float64Array(Object.keys(COLUMN).length).fill(Number.NaN);
  values[COLUMN[column]] = limit;
  return { values, rates: new ContainerRates() };
}

test.each([
  { limit: 8, tolerance: 0.05 },
  { limit: 1, tolerance: 0.05 },
  { limit: 0.5, tolerance: 0.025 },
  { limit: 0.01, tolerance: 0.002 },
  { limit: Number.NaN, tolerance: 0.05 },
  { limit: 0, tolerance: 0.05 },
])("of a container of $limit cores, $tolerance do not matter", ({ limit, tolerance }) => {
  expect(cpuToleranceCores(target("cpuLimitCores", limit))).toBeCloseTo(tolerance, 12);
});

test.each([
  { limitMib: 4096, toleranceMib: 32 },
  { limitMib: 640, toleranceMib: 32 },
  { limitMib: 64, toleranceMib: 3.2 },
  { limitMib: 8, toleranceMib: 1 },
  { limitMib: Number.NaN, toleranceMib: 32 },
])("of a container of $limitMib MiB, $toleranceMib do not matter", ({ limitMib, toleranceMib }) => {
  expect(memoryToleranceBytes(target("memoryLimitBytes", limitMib * MIB)) / MIB).toBeCloseTo(toleranceMib, 6);
});
