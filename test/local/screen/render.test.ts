import { describe, expect, it } from "vitest";
import type { Picture } from "@tradewind/local/screen/picture.ts";
import {
  formatLatency,
  formatSeconds,
  renderPicture,
  renderProgress,
} from "@tradewind/local/screen/render.ts";
import { choosePaint, coloured, cut, plain } from "@tradewind/local/screen/style.ts";

const PICTURE: Picture = {
  application: "hotel",
  policy: "queue",
  phase: "surge",
  elapsedS: 61.4,
  durationS: 150,
  objectiveSeconds: 0.3,
  requestsPerSecond: 33.2,
  p95Seconds: 0.412,
  failed: 3,
  services: [
    {
      name: "frontend",
      requestsPerSecond: 33.2,
      p95Seconds: 0.35,
      replicasReady: 1,
      replicasWanted: 3,
      cpuCores: 0.12,
      cpuCoresWanted: 0.18,
      reason: "CPU demand is 145 % of what its ready replicas have: needs 3",
    },
    {
      name: "reservation",
      requestsPerSecond: undefined,
      p95Seconds: undefined,
      replicasReady: 1,
      replicasWanted: 1,
      cpuCores: 0.12,
      cpuCoresWanted: 0.12,
      reason: "no recommendation yet",
    },
  ],
  interference: "stress-ng",
  quota: "CFS quota, cgroup v1",
  addresses: [
    ["recommendations", "http://127.0.0.1:9812/"],
    ["scaler", "127.0.0.1:9813"],
  ],
  troubles: ["predictor does not answer"],
};

describe("renderPicture", () => {
  it("shows load, latency against the objective, replicas now and wanted, and why", () => {
    expect(renderPicture(PICTURE, 100, plain)).toBe(
      [
        "Tradewind  hotel, policy queue   61 s of 2 m 30 s, 89 s left",
        "warmup calm surge interference recovery  ━━━━━━━━━━━━━━━━━━━━━━━━",
        "",
        "users  33.2 req/s   p95 412 ms (objective 300 ms)   3 failed   disturbed by stress-ng",
        "",
        "service           req/s       p95  replicas  cores each   why",
        "frontend           33.2    350 ms  1 → 3     0.12 → 0.18  CPU demand is 145 % of what its ready rep…",
        "reservation           –         –  1         0.12         no recommendation yet",
        "",
        "! predictor does not answer",
        "quota: CFS quota, cgroup v1",
        "recommendations http://127.0.0.1:9812/  scaler 127.0.0.1:9813",
      ].join("\n"),
    );
  });

  it.each([20, 40, 60, 72, 80, 120, 200])(
    "keeps the rows of services within %d columns or their own minimum",
    (columns) => {
      const rows = renderPicture(PICTURE, columns, plain).split("\n").slice(5, 8);
      for (const row of rows) expect(row.length).toBeLessThanOrEqual(Math.max(columns, 48));
    },
  );

  it("colours without changing the text", () => {
    const text = renderPicture(PICTURE, 100, coloured);
    expect(text).toContain("\u001b[31m");
    // eslint-disable-next-line no-control-regex -- colour sequences are what is taken out
    expect(text.replace(/\u001b\[\d+m/g, "")).toBe(renderPicture(PICTURE, 100, plain));
  });

  it("says how to stop a run without an end", () => {
    const { durationS: _durationS, ...endless } = PICTURE;
    expect(renderPicture(endless, 100, plain)).toContain("61 s, Ctrl-C stops");
  });
});

describe("renderProgress", () => {
  it("is one line", () => {
    expect(renderProgress(PICTURE)).toBe(
      "  61/150 s  surge          33.2 req/s  p95 412 ms of 300 ms    3 failed  replicas 2 → 4",
    );
  });
});

describe("choosePaint", () => {
  it.each([
    ["a terminal", true, {}, true],
    ["a pipe", false, {}, false],
    ["NO_COLOR", true, { NO_COLOR: "1" }, false],
    ["an empty NO_COLOR, which means nothing", true, { NO_COLOR: "" }, true],
    ["a dumb terminal", true, { TERM: "dumb" }, false],
  ])("decides for %s", (_case, isTerminal, env, expected) => {
    expect(choosePaint(isTerminal, env) === coloured).toBe(expected);
  });
});

describe("formats", () => {
  it.each([
    [undefined, "–"],
    [0.0384, "38 ms"],
    [0.9994, "999 ms"],
    [1.254, "1.25 s"],
  ])("writes a latency of %s as %s", (seconds, text) => {
    expect(formatLatency(seconds)).toBe(text);
  });

  it.each([
    [-1, "0 s"],
    [75.2, "75 s"],
    [125, "2 m 05 s"],
  ])("writes %d seconds as %s", (seconds, text) => {
    expect(formatSeconds(seconds)).toBe(text);
  });

  it.each([
    ["short", 10, "short"],
    ["exactly ten", 11, "exactly ten"],
    ["somewhat longer", 8, "somewha…"],
    ["any", 1, "a"],
    ["any", 0, ""],
  ])("cuts '%s' to %d columns", (text, width, expected) => {
    expect(cut(text, width)).toBe(expected);
  });
});
