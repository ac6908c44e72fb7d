import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SizeHistory, WATCHED_SECONDS } from "@tradewind/exporter/controller/sizing/size-history.ts";

const MINUTE = 60_000;
const WATCHED_MS = WATCHED_SECONDS.cpuCores * 1e3;

describe("the size given to a container", () => {
  it("grows at once and shrinks only after nothing larger was recommended for a minute", () => {
    const history = new SizeHistory(-WATCHED_MS);
    const at = (minute: number, cpuCores: number): number | undefined => {
      history.record({ cpuCores }, minute * MINUTE);
      return history.settled("cpuCores", 1, minute * MINUTE);
    };
    expect(at(0, 1)).toBe(1);
    expect(at(1, 2)).toBe(2);
    expect(at(2, 0.5)).toBe(1);
    expect(at(2.1, 0.5)).toBe(0.5);
  });

  it("does not hold a size that nothing runs at: it may never have fitted its node", () => {
    const history = new SizeHistory(-WATCHED_MS);
    history.record({ cpuCores: 1.6 }, 0);
    history.record({ cpuCores: 1.2 }, MINUTE);
    expect(history.settled("cpuCores", 0.8, MINUTE)).toBe(1.2);
    expect(history.settled("cpuCores", 1.6, MINUTE)).toBe(1.6);
  });

  it("is never less than what runs before it has watched for long enough", () => {
    const history = new SizeHistory(0);
    history.record({ cpuCores: 0.2, memoryBytes: 100e6 }, 0);
    expect(history.settled("cpuCores", 1.5, 0)).toBe(1.5);
    expect(history.settled("cpuCores", undefined, 0)).toBe(0.2);
    history.record({ cpuCores: 0.2, memoryBytes: 100e6 }, WATCHED_MS - MINUTE);
    expect(history.settled("cpuCores", 1.5, WATCHED_MS - MINUTE)).toBe(1.5);
    history.record({ cpuCores: 0.2, memoryBytes: 100e6 }, WATCHED_MS);
    expect(history.settled("cpuCores", 1.5, WATCHED_MS)).toBe(0.2);
    expect(history.settled("memoryBytes", 500e6, WATCHED_MS)).toBe(500e6);
  });

  it("is unknown for what was never recommended, or is not any more", () => {
    const history = new SizeHistory(0);
    expect(history.settled("cpuCores", 1, 0)).toBeUndefined();
    history.record({ cpuCores: 1 }, 0);
    expect(history.settled("memoryBytes", 1, 0)).toBeUndefined();
    history.record({}, MINUTE);
    expect(history.settled("cpuCores", 1, MINUTE)).toBeUndefined();
  });

  it("is never below the newest recommendation, however fast they come", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ gapMs: fc.nat(40_000), cores: fc.double({ min: 0.1, max: 8, noNaN: true }) }), {
          minLength: 1,
        }),
        (steps) => {
          const history = new SizeHistory(0);
          let nowMs = 0;
          for (const { cores, gapMs } of steps) {
            nowMs += gapMs;
            history.record({ cpuCores: cores }, nowMs);
            expect(history.settled("cpuCores", undefined, nowMs)).toBeGreaterThanOrEqual(cores);
          }
        },
      ),
    );
  });
});
