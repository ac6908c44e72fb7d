import { describe, expect, it } from "vitest";
import { poll } from "@tradewind/simulator/control/activation.ts";

const OBJECT = { minReplicaCount: 0, cooldownSeconds: 300 };
const AWAKE = { lastActiveMs: 0 };

describe("KEDA's scaling between no replica and the first", () => {
  it("starts the minimum, at least one, as soon as one trigger is active, even beside one that fails", () => {
    expect(poll(OBJECT, [undefined, true], 0, {}, 5_000)).toEqual({
      replicas: 1,
      memory: { lastActiveMs: 5_000 },
    });
    expect(poll({ ...OBJECT, minReplicaCount: 2 }, [true], 0, {}, 5_000).replicas).toBe(2);
  });

  it("leaves everything from one replica on to the HPA while active", () => {
    expect(poll(OBJECT, [true], 3, AWAKE, 5_000)).toEqual({ memory: { lastActiveMs: 5_000 } });
  });

  it("stops all replicas when the cooldown has passed since a trigger was last active, and not before", () => {
    expect(poll(OBJECT, [false], 3, AWAKE, 299_999).replicas).toBeUndefined();
    expect(poll(OBJECT, [false], 3, AWAKE, 300_000).replicas).toBe(0);
  });

  it("stops all at once when no trigger was ever active", () => {
    expect(poll(OBJECT, [false, false], 3, {}, 0).replicas).toBe(0);
  });

  it("never stops the last replica on an error, nor with a minimum of one", () => {
    expect(poll(OBJECT, [undefined], 3, AWAKE, 900_000).replicas).toBeUndefined();
    expect(poll(OBJECT, [false, undefined], 3, AWAKE, 900_000).replicas).toBeUndefined();
    expect(poll({ ...OBJECT, minReplicaCount: 1 }, [false], 3, AWAKE, 900_000).replicas).toBeUndefined();
  });
});
