import { PolicySettings } from "@tradewind/predictor/decide/facts/settings.ts";
import { judge, sloStanding } from "@tradewind/predictor/decide/facts/verdict.ts";
import type { FlowVerdict } from "@tradewind/predictor/decide/facts/verdict.ts";
import { describe, expect, it } from "vitest";
import { application, flow } from "../../measurements.ts";

const verdictOn = (errorRatio: number, tailSeconds: number, count?: number) => {
  const [of] = [flow(["frontend"], tailSeconds, { errorRatio })];
  const flows = [count === undefined ? of : { ...of, latency: { ...of.latency, count } }];
  return judge(flows, application(), PolicySettings.parse({}));
};

/** Of a route of which all spans are well within the objective of 200 ms, p95 50 ms, and this share failed. */
function verdictOf(errorRatio: number, tailSeconds = 0.05): FlowVerdict {
  return verdictOn(errorRatio, tailSeconds).flows[0]!;
}

describe("a route of which requests fail", () => {
  it("misses its objective when more fail than may be late, however short their spans are", () => {
    expect(verdictOf(0.6)).toMatchObject({ isFailing: true });
    expect(verdictOf(0.6).severity).toBeCloseTo(12, 9);
    expect(verdictOf(0.051).severity).toBeGreaterThan(1);
  });

  it("is judged by its tail while fewer fail", () => {
    expect(verdictOf(0.04)).toMatchObject({ isFailing: false, severity: 0.25 });
    expect(verdictOf(0)).toMatchObject({ isFailing: false, severity: 0.25 });
  });

  it("is as far off as the worse of the two says", () => {
    expect(verdictOf(0.1, 2).severity).toBeCloseTo(10, 9);
    expect(verdictOf(0.1, 0.1).severity).toBeCloseTo(2, 9);
  });
});

it("routes with an identifier in each name are judged together: none of them has the calls to tell (ids-in-routes)", () => {
  const routes = (tailSeconds: number, count: number) =>
    Array.from({ length: count }, (_, at) => {
      const of = flow(["frontend"], tailSeconds);
      return { ...of, flow: `GET /user/${at}`, latency: { ...of.latency, count: 1 } };
    });
  const severityOf = (tailSeconds: number, count: number): number | undefined =>
    judge(routes(tailSeconds, count), application(), PolicySettings.parse({})).severity;
  expect(severityOf(2, 300)).toBeGreaterThan(2);
  expect(severityOf(0.05, 300)).toBeLessThan(1);
  expect(severityOf(2, 5)).toBeUndefined();
});

describe("a route of few requests", () => {
  /** Three calls of this share failed in this window, after windows of three calls of which none did. */
  const after = (windows: number, errorRatio: number) => {
    const [of] = [flow(["frontend"], 0.05, { errorRatio })];
    const latency = { ...of.latency, count: 3 };
    const latencies = Array.from({ length: windows }, (_, i) => ({ ...latency, errorRatio: 0, endMs: i }));
    const earlier = [{ flow: of.flow, latencies }];
    return judge([{ ...of, latency }], application(), PolicySettings.parse({}), earlier).flows[0]!;
  };

  it("is not failing by one failed request among those of several windows: 1 of 21 is 4.8 %", () => {
    expect(after(12, 1 / 3)).toMatchObject({ calls: 3, telling: true, isFailing: false });
    expect(after(12, 1 / 3).flow.errorRatio).toBeCloseTo(1 / 21, 9);
    expect(after(0, 1 / 3)).toMatchObject({ telling: false, isFailing: false });
  });

  it("is failing where more of all those failed than may be late: 3 of 21", () => {
    expect(after(12, 1)).toMatchObject({ isFailing: true });
  });

  it("is judged by the windows whose failures were kept", () => {
    const [of] = [flow(["frontend"], 0.05, { errorRatio: 1 })];
    const latency = { ...of.latency, count: 3 };
    const latencies = Array.from({ length: 12 }, (_, i) => ({ ...latency, endMs: i }));
    const earlier = [{ flow: of.flow, latencies }];
    const { flows } = judge([{ ...of, latency }], application(), PolicySettings.parse({}), earlier);
    expect(flows[0]?.flow.errorRatio).toBe(1);
  });
});

describe("how a window stands to the objective for users", () => {
  const standing = (errorRatio: number, tailSeconds: number, count?: number) =>
    sloStanding(verdictOn(errorRatio, tailSeconds, count));

  it("is the latency over the objective while few requests fail", () => {
    expect(standing(0.04, 0.05)).toEqual({ ratio: 0.25, route: "GET /" });
    expect(standing(0, 0.5)).toEqual({ ratio: 2.5, route: "GET /" });
  });

  it("is missed by fast requests that fail: a tenth failed where a twentieth may", () => {
    expect(standing(0.1, 0.05)).toMatchObject({ failedRatio: 0.1, route: "GET /" });
    expect(standing(0.1, 0.05)!.ratio).toBeCloseTo(2, 9);
    expect(standing(0.1, 1)).toEqual({ ratio: 5, failedRatio: 0.1, route: "GET /" });
  });

  it("is not missed by one failed request of a handful", () => {
    expect(standing(0.25, 0.05, 4)).not.toHaveProperty("failedRatio");
    expect(standing(0.25, 0.05, 4)!.ratio).toBeCloseTo(0.25, 2);
  });

  it("is unknown without traffic", () => {
    expect(sloStanding(judge([], application(), PolicySettings.parse({})))).toBeUndefined();
  });
});
