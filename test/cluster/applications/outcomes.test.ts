import { describe, expect, it } from "vitest";
import { judgeLatency, parseResults } from "./outcomes.ts";
import type { Outcome } from "./outcomes.ts";

/** A line of `vegeta encode --to=json`. */
const line = (code: number, latency: number, error = ""): string =>
  JSON.stringify({
    attack: "",
    seq: 0,
    code,
    timestamp: "2026-01-01T00:00:00Z",
    latency,
    bytes_out: 5,
    bytes_in: 9,
    error,
    body: null,
    method: "POST",
    url: "http://10.241.0.7:9898/api/echo",
    headers: {},
  });

describe("results of vegeta", () => {
  it("are latencies in seconds, of answers with 2xx", () => {
    expect(parseResults(`${line(200, 8_000_000)}\n${line(202, 1_500_000_000)}\n`, 5, true)).toEqual([
      { latencySeconds: 0.008, failed: false, inPeak: true },
      { latencySeconds: 1.5, failed: false, inPeak: true },
    ]);
  });

  it.each([
    ["an answer that says so", line(503, 2_000_000, "503 Service Unavailable")],
    ["a redirection", line(301, 2_000_000)],
    ["no answer", line(0, 1_000_000, "connect: connection refused")],
    ["an answer that broke off", line(200, 2_000_000, "unexpected EOF")],
  ])("are failures by %s, and count as the whole timeout", (_what, text) => {
    expect(parseResults(text, 5, false)).toEqual([{ latencySeconds: 5, failed: true, inPeak: false }]);
  });

  it("keep the time of a failure that took longer than the timeout", () => {
    expect(parseResults(line(0, 5_004_000_000, "context deadline exceeded"), 5, false)[0]).toEqual({
      latencySeconds: 5.004,
      failed: true,
      inPeak: false,
    });
  });

  it("are refused by the line that is none", () => {
    expect(() => parseResults(`${line(200, 1)}\n{"code":200}\n`, 5, false)).toThrow(
      'line 2 is not a result of vegeta: {"code":200}',
    );
    expect(() => parseResults("panic: goroutine 1", 5, false)).toThrow("line 1 is not a result");
  });
});

describe("the latency of requests", () => {
  const answered = (latencySeconds: number): Outcome => ({ latencySeconds, failed: false, inPeak: false });

  it("is their 95th percentile by nearest rank, in any order", () => {
    // 1 to 20 ms: the 19th.
    const outcomes = Array.from({ length: 20 }, (_, index) => answered((20 - index) / 1_000));
    expect(judgeLatency(outcomes, 1).p95Seconds).toBe(0.019);
    expect(judgeLatency(outcomes.slice(0, 1), 1).p95Seconds).toBe(0.02);
  });

  it("is over the objective for slow and failed requests, not for one exactly at it", () => {
    const failed = { latencySeconds: 5, failed: true, inPeak: false };
    expect(judgeLatency([answered(0.01), answered(0.05), answered(0.051), failed], 0.05)).toEqual({
      requests: 4,
      failed: 1,
      over: 0.5,
      p95Seconds: 5,
    });
  });

  it("counts a failure as over an objective that is longer than the timeout", () => {
    expect(judgeLatency([{ latencySeconds: 5, failed: true, inPeak: false }], 10).over).toBe(1);
  });

  it("is not invented where no request was sent", () => {
    expect(() => judgeLatency([], 0.05)).toThrow("no request was sent");
  });
});
