import { describe, expect, it } from "vitest";
import { costBetween, localModel } from "../../bench/fidelity/local-plant.ts";
import { applicationOf } from "@tradewind/local/application/applications.ts";

describe("CPU a request", () => {
  const at = (cpuCores: number, perSecond: number) => new Map([["cart", { cpuCores, perSecond }]]);

  it("is what one more request takes, without what a process uses beside requests", () => {
    expect(costBetween(at(0.08, 30), at(0.2, 90)).get("cart")).toBeCloseTo(0.002, 12);
  });

  it("is all CPU over all requests where two rates do not tell", () => {
    expect(costBetween(new Map(), at(0.2, 100)).get("cart")).toBe(0.002);
    expect(costBetween(at(0.3, 30), at(0.2, 100)).get("cart")).toBe(0.002);
    expect(costBetween(at(0.01, 30), at(0.2, 100)).get("cart")).toBe(0.002);
    expect(costBetween(at(0.1, 100), at(0.2, 100)).get("cart")).toBe(0.002);
  });
});

describe("the simulated copy of a local application", () => {
  it("has its services, calls and routes, with the CPU that was measured for each request", () => {
    const topology = applicationOf("shop");
    const model = localModel(topology, new Map([["payment", 0.006]]));
    expect(model.services.map(({ name }) => name)).toEqual(topology.services.map(({ name }) => name));
    expect(model.routes.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 12);
    const steps = model.services.find(({ name }) => name === "payment")!.operations["POST /charge"]!;
    const work = steps.flatMap((step) => (step.kind === "cpu" ? [step.time] : []));
    expect(work.reduce((sum, time) => sum + ("mean" in time ? time.mean : 0), 0)).toBeCloseTo(6, 9);
  });
});
