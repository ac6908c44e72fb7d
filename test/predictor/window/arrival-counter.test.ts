import { describe, expect, it } from "vitest";
import { ArrivalCounter } from "@tradewind/predictor/window/arrival-counter.ts";
import { batchOf, T0, traceOf } from "./traced.ts";
import type { Example } from "./traced.ts";

const counter = (service: string | undefined = "frontend"): ArrivalCounter =>
  new ArrivalCounter({ services: () => [service], slotMs: 100, keepMs: 1_000 });
const request = (at: number, more: Partial<Example> = {}): Example => ({
  service: "frontend",
  kind: "server",
  at,
  for: 20,
  ...more,
});
const batch = (...roots: Example[]) => batchOf(roots.flatMap((root) => traceOf(root)));

describe("the counter of arrivals", () => {
  it("counts requests to the service by when they began, whichever batch they come in", () => {
    const arrivals = counter();
    arrivals.add(batch(request(10), request(120)), T0 + 500);
    arrivals.add(batch(request(90), request(199), request(200)), T0 + 600);
    expect(arrivals.between(T0, T0 + 100).spans).toBe(2);
    expect(arrivals.between(T0, T0 + 200).spans).toBe(4);
    expect(arrivals.between(T0 + 200, T0 + 600).spans).toBe(1);
  });

  it("counts neither other services nor the calls that the service makes", () => {
    const arrivals = counter();
    const call: Example = { service: "frontend", kind: "client", at: 11, for: 9 };
    const callee: Example = { service: "geo", kind: "server", at: 12, for: 7 };
    arrivals.add(batch(request(10, { children: [{ ...call, children: [callee] }] })), T0 + 500);
    expect(arrivals.between(T0, T0 + 500).spans).toBe(1);
  });

  it("counts a sampled trace for the requests that it stands for, unless that is nonsense", () => {
    const arrivals = counter();
    const counts = [100, 0.5, 1e9, undefined];
    for (const adjustedCount of counts) {
      arrivals.add(batch(request(10, adjustedCount === undefined ? {} : { adjustedCount })), T0 + 500);
    }
    expect(arrivals.between(T0, T0 + 500)).toEqual({ spans: 4, requests: 103 });
  });

  it("counts a slot only where it lies in the interval as a whole", () => {
    const arrivals = counter();
    arrivals.add(batch(request(50), request(150), request(250)), T0 + 500);
    expect(arrivals.between(T0 + 1, T0 + 299).spans).toBe(1);
  });

  it("forgets what began longer ago than it keeps, and takes nothing from clocks that are ahead", () => {
    const arrivals = counter();
    arrivals.add(batch(request(0)), T0 + 500);
    arrivals.add(batch(request(1_150)), T0 + 1_200);
    expect(arrivals.between(T0, T0 + 100).spans).toBe(0);
    arrivals.add(batch(request(100), request(1_500)), T0 + 1_400);
    expect(arrivals.between(T0, T0 + 2_000).spans).toBe(1);
  });

  it("counts nothing while there is no application", () => {
    const arrivals = counter("nobody");
    arrivals.add(batch(request(10)), T0 + 500);
    expect(arrivals.between(T0, T0 + 500).spans).toBe(0);
  });
});
