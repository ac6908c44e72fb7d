import { expect, test } from "vitest";
import type { Interference } from "@tradewind/core/contract/interference.ts";
import { movedComponents, Onset } from "@tradewind/agent/container/onset.ts";

function vector(cpu: number, network?: number): Interference {
  return {
    cpu: { supported: true, value: cpu },
    memoryCapacity: { supported: true, value: 0.1 },
    memoryBandwidth: { supported: false },
    network: network === undefined ? { supported: true } : { supported: true, value: network },
  };
}

test("a component moved when it moved by more than the tolerance, came or went", () => {
  expect(movedComponents(vector(0.1, 0), vector(0.19, 0), 0.1)).toEqual([]);
  expect(movedComponents(vector(0.1, 0), vector(0.21, 0.5), 0.1)).toEqual(["cpu", "network"]);
  expect(movedComponents(vector(0.1), vector(0.1, 0), 0.1)).toEqual(["network"]);
});

test("slow drift is told once it adds up", () => {
  const onset = new Onset(vector(0), 1);
  const told = [0.04, 0.08, 0.12, 0.16, 0.2, 0.23].map((cpu) => onset.look(vector(cpu), 0.1).length > 0);
  expect(told).toEqual([false, false, true, false, false, true]);
});

test("with two looks a spike is not told and a step is, at its second look", () => {
  const onset = new Onset(vector(0), 2);
  expect(onset.look(vector(0.8), 0.1)).toEqual([]);
  expect(onset.isPending).toBe(true);
  expect(onset.look(vector(0), 0.1)).toEqual([]);
  expect(onset.isPending).toBe(false);
  expect(onset.look(vector(0.8), 0.1)).toEqual([]);
  expect(onset.look(vector(0.7), 0.1)).toEqual(["cpu"]);
  expect(onset.isPending).toBe(false);
});
