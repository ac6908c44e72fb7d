import { describe, expect, it } from "vitest";
import { PLANTS } from "../../simulator/plants/plants.ts";

describe("plants", () => {
  it("have names of their own", () => {
    expect(new Set(PLANTS.map(({ name }) => name)).size).toBe(PLANTS.length);
  });

  it.each(PLANTS.map((plant) => [plant.name, plant] as const))(
    "%s meets its objective while it is calm",
    (_, plant) => {
      const world = plant.create(5);
      world.advanceTo(plant.startMs + 120_000);
      const { minutesOver, oomKills, routes } = world.account();
      expect(routes.reduce((sum, { requests }) => sum + requests, 0)).toBeGreaterThan(1_000);
      expect(routes.every(({ failed }) => failed === 0)).toBe(true);
      expect([minutesOver, oomKills]).toEqual([0, 0]);
      const set = world.windowSet(plant.startMs + 60_000, plant.startMs + 75_000);
      expect(set.flows.length).toBeGreaterThan(0);
    },
  );
});
