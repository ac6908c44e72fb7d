import { BLIND_SPANS } from "@tradewind/simulator/course/obstacles/small-limits.ts";
import { obstacleOf } from "@tradewind/simulator/course/plant.ts";
import type { ObstacleModel } from "@tradewind/simulator/course/obstacle.ts";
import type { World } from "@tradewind/simulator/world.ts";
import { describe, expect, it } from "vitest";

const LEVEL = 60;
const WARM_UP_MS = 30_000;
const END_MS = 180_000;

/** The application at the load of its peak all the time. */
function worldOf(frontend: number, backend: number): World {
  const { application, ...model } = BLIND_SPANS.model;
  const services = application.services.map((service) => ({
    ...service,
    replicas: service.name === "frontend" ? frontend : backend,
  }));
  const level: ObstacleModel = {
    ...BLIND_SPANS,
    model: { ...model, application: { ...application, services }, load: () => LEVEL },
  };
  return obstacleOf(level).plant.create(1);
}

describe("blind-spans", () => {
  // Measured on a real node with these pods at this load: 13.6, 8.9, 4.5 and 1.3 %.
  it.each([
    [2, 1, 0.1, 0.2],
    [3, 1, 0.06, 0.11],
    [3, 2, 0.02, 0.06],
    [4, 2, 0.005, 0.04],
  ])("with %i frontends and %i backends users wait too long about as often as measured", (...parts) => {
    const [frontend, backend, least, most] = parts;
    const world = worldOf(frontend, backend);
    const { startMs } = BLIND_SPANS.model;
    world.advanceTo(startMs + WARM_UP_MS);
    const [from] = world.account().routes;
    world.advanceTo(startMs + END_MS);
    const [to] = world.account().routes;
    const over = ((to?.over ?? 0) - (from?.over ?? 0)) / ((to?.requests ?? 0) - (from?.requests ?? 0));
    expect(over).toBeGreaterThan(least);
    expect(over).toBeLessThan(most);
  });

  it("a full frontend has users wait many times longer than its spans say", () => {
    const world = worldOf(1, 2);
    const { startMs } = BLIND_SPANS.model;
    world.advanceTo(startMs + 35_000);
    for (const fromMs of [0, 15_000]) {
      const { windows } = world.windowSet(startMs + fromMs, startMs + fromMs + 15_000);
      const own = windows.find(({ service }) => service === "frontend")?.ownLatency?.meanSeconds ?? NaN;
      const users = world.account().routes[0]?.latency.meanSeconds ?? NaN;
      expect(users).toBeGreaterThan(20 * own);
    }
  });
});
