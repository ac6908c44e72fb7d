import { run } from "@tradewind/simulator/contenders/run.ts";
import { CONTENDERS } from "@tradewind/simulator/contenders/contenders.ts";
import { drawnName, drawnNamed, drawnPlant } from "@tradewind/simulator/course/drawn.ts";
import { obstacleOf } from "@tradewind/simulator/course/plant.ts";
import { describe, expect, it } from "vitest";

/** What JSON says of it: its load is a function. */
const textOf = (number: number): string => JSON.stringify(drawnPlant(number));

describe("plants that are drawn", () => {
  it("are the same for a number, and others for other numbers", () => {
    expect(textOf(7)).toBe(textOf(7));
    expect(textOf(8)).not.toBe(textOf(7));
  });

  it("are found by their names, and nothing is by other names", () => {
    expect(drawnNamed(drawnName(7))?.name).toBe("drawn-7");
    for (const name of ["wave", "drawn-", "drawn--1", "drawn-1.5"])
      expect({ name, plant: drawnNamed(name) }).toEqual({ name, plant: undefined });
  });

  it("hold their objective at the load that they begin with where there are pods enough", async () => {
    const drawn = drawnPlant(7);
    const { load, ...model } = drawn.model;
    const services = model.application.services.map((each) =>
      Object.assign({}, each, { replicas: 3 * each.replicas }),
    );
    const application = { ...model.application, services };
    const { incidents: _, ...quiet } = { ...model, application, seconds: 120, load: () => load(0) };
    const { requestsOver } = await run({
      obstacle: obstacleOf({ ...drawn, warmUpSeconds: 60, model: quiet }),
      contender: CONTENDERS.find(({ name }) => name === "static")!,
      actuators: "replicas",
      seed: 7,
    });
    expect(requestsOver).toBeLessThan(0.05);
  });
});
