import { describe, expect, it } from "vitest";
import { hotelReservation } from "../../../simulator/applications/hotel-reservation.ts";
import { demandPerRequest, replicasFor } from "../../../simulator/model/demand.ts";
import { fixed } from "../../../simulator/model/distribution.ts";
import { application, cpu, Rig, service } from "../rig.ts";

describe("demand of an application", () => {
  it("follows calls with their counts and messages", () => {
    const model = application(
      service("a", [
        cpu(fixed(2)),
        {
          kind: "call",
          calls: [{ service: "b", operation: "serve", count: { kind: "uniform", low: 1, high: 3 } }],
        },
        { kind: "send", call: { service: "c", operation: "serve", count: { kind: "chance", chance: 0.5 } } },
      ]),
      service("b", [cpu(fixed(5)), { kind: "call", calls: [{ service: "c", operation: "serve" }] }]),
      service("c", [cpu(fixed(4))]),
    );
    expect(Object.fromEntries(demandPerRequest(model))).toEqual({
      a: { visits: 1, coreSeconds: 0.002 },
      b: { visits: 2, coreSeconds: 0.01 },
      c: { visits: 2.5, coreSeconds: 0.01 },
    });
  });

  it("is what the simulator's containers use", () => {
    const model = hotelReservation({ profile: 2 });
    const rig = new Rig(model, { cores: 64, seed: 2 });
    const seconds = 200;
    rig.run(50, seconds);
    const requests = rig.ended.length;
    for (const [name, { coreSeconds, visits }] of demandPerRequest(model)) {
      const pods = rig.servers.filter((server) => server.service.compiled.model.name === name);
      const used = pods.reduce((sum, { main }) => sum + main.usedUntil(seconds * 1e3), 0) / 1e3;
      const sampled = Math.sqrt(1.3 / (visits * requests));
      expect(Math.abs(used / requests / coreSeconds - 1)).toBeLessThan(4 * sampled);
    }
  });

  it("says how many pods carry a rate", () => {
    const replicas = replicasFor(hotelReservation(), 140, 0.6);
    expect(replicas).toMatchObject({ frontend: 1, profile: 3, rate: 2, user: 1 });
  });
});
