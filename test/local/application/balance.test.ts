import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createBalancer } from "@tradewind/local/application/balance.ts";

describe("createBalancer", () => {
  it("has no replica to give before it knows one", () => {
    expect(createBalancer().acquire()).toBeUndefined();
  });

  it("takes turns while nobody is busy", () => {
    const balancer = createBalancer();
    balancer.setEndpoints(["a", "b", "c"]);
    const chosen = Array.from({ length: 6 }, () => {
      const endpoint = balancer.acquire()!;
      balancer.release(endpoint);
      return endpoint;
    });
    expect(new Set(chosen.slice(0, 3)).size).toBe(3);
    expect(chosen.slice(3)).toEqual(chosen.slice(0, 3));
  });

  it("prefers the replica with the fewest requests under way, a new one first of all", () => {
    const balancer = createBalancer();
    balancer.setEndpoints(["a", "b"]);
    for (let count = 0; count < 4; count += 1) balancer.acquire();
    balancer.setEndpoints(["a", "b", "new"]);
    expect(balancer.acquire()).toBe("new");
    expect(balancer.acquire()).toBe("new");
  });

  it("chooses a removed replica no more, and still takes back what was sent to it", () => {
    const balancer = createBalancer();
    balancer.setEndpoints(["a", "b"]);
    const taken = [balancer.acquire()!, balancer.acquire()!];
    balancer.setEndpoints(["b"]);
    expect(balancer.acquire()).toBe("b");
    for (const endpoint of taken) balancer.release(endpoint);
    balancer.setEndpoints(["a", "b"]);
    expect(balancer.acquire()).toBe("a");
  });

  it("never lets two replicas differ by more than one request while none is answered", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 100 }), (size, requests) => {
        const balancer = createBalancer();
        const endpoints = Array.from({ length: size }, (_, index) => String(index));
        balancer.setEndpoints(endpoints);
        const counts = new Map(endpoints.map((endpoint) => [endpoint, 0]));
        for (let sent = 0; sent < requests; sent += 1) {
          const endpoint = balancer.acquire()!;
          counts.set(endpoint, counts.get(endpoint)! + 1);
        }
        expect(Math.max(...counts.values()) - Math.min(...counts.values())).toBeLessThanOrEqual(1);
      }),
    );
  });
});
