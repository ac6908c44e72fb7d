import { describe, expect, it } from "vitest";
import { phasesOf } from "@tradewind/local/load/phases.ts";
import type { Picture } from "@tradewind/local/screen/picture.ts";
import { formatLatency, formatSeconds } from "@tradewind/core/values/amounts.ts";
import { renderPicture, renderProgress } from "@tradewind/local/screen/render.ts";
import { choosePaint, coloured, cut, plain } from "@tradewind/core/terminal/style.ts";

const PHASES = phasesOf(150);

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
    ["console", "http://127.0.0.1:9812/"],
    ["scaler", "127.0.0.1:9813"],
  ],
  troubles: ["predictor does not answer"],
  notes: [],
  answer: [],
  totals: {
    requests: 4_000,
    over: 20,
    failed: 3,
    replicas: 2,
    cpuCores: 0.24,
    memoryBytes: 2 ** 29,
    costPerHour: 0.0097,
    starts: 1,
    stops: 0,
  },
  trend: {
    steps: 60,
    p95Seconds: [0.03, 0.2, 0.3, undefined, 0.412, 0.9],
    phases: PHASES.map(({ fromS, name, toS }) => ({ name, fromShare: fromS / 150, toShare: toS / 150 })),
  },
  isInteractive: false,
  showsHelp: false,
};

/** A terminal that is high enough. */
const high = (columns: number) => ({ columns, rows: 100 });

describe("renderPicture", () => {
  it("shows load, latency against the objective, replicas now and wanted, and why", () => {
    expect(renderPicture(PICTURE, high(100), plain)).toBe(
      [
        "Tradewind  hotel, policy queue   61 s of 2 m 30 s, 89 s left",
        "",
        "users  33.2 req/s   p95 412 ms (objective 300 ms)   3 failed   disturbed by stress-ng",
        "so far 4000 requests, 20 over the objective (0.50 %), 3 failed, 1 starts, 0 stops",
        "now    2 replicas, 0.24 cores, 512.0 MiB, 0.0097 per hour",
        "",
        "p95     ▁▃▄ ▆█",
        "        │warmup │calm     │surge              │interference │recovery",
        "        ▄ and lower: within the objective",
        "",
        "service           req/s       p95  replicas  cores each   why",
        "frontend           33.2    350 ms  1 → 3     0.12 → 0.18  CPU demand is 145 % of what its ready",
        "                                                          replicas have: needs 3",
        "reservation           –         –  1         0.12         no recommendation yet",
        "",
        "! predictor does not answer",
        "quota: CFS quota, cgroup v1",
        "console http://127.0.0.1:9812/  scaler 127.0.0.1:9813",
      ].join("\n"),
    );
  });

  it.each([20, 40, 60, 72, 80, 120, 200])(
    "keeps the rows of services within %d columns or their own minimum",
    (columns) => {
      const lines = renderPicture(PICTURE, high(columns), plain).split("\n");
      const first = lines.findIndex((line) => line.startsWith("service"));
      const last = lines.findIndex((line) => line.startsWith("! "));
      for (const row of lines.slice(first, last))
        expect(row.length).toBeLessThanOrEqual(Math.max(columns, 48));
    },
  );

  it.each([40, 60, 80, 120])("shows every reason whole on %d columns", (columns) => {
    const text = renderPicture(PICTURE, high(columns), plain).replaceAll(/\s+/g, " ");
    expect(text).toContain("CPU demand is 145 % of what its ready replicas have: needs 3");
  });

  it("cuts reasons to a line each where the terminal is too low for all of them", () => {
    const text = renderPicture(PICTURE, { columns: 100, rows: 16 }, plain);
    expect(text).toContain("0.12 → 0.18  CPU demand is 145 % of what its ready rep…\nreservation");
  });

  it("shows the answer to what a person asked beneath the services", () => {
    const asked = { ...PICTURE, answer: ["what if, asked at 61 s:", "  geo 2 → 3 replicas  p95 80 ms"] };
    expect(renderPicture(asked, high(100), plain)).toContain(
      "no recommendation yet\n\nwhat if, asked at 61 s:\n  geo 2 → 3 replicas  p95 80 ms\n! predictor",
    );
  });

  it("colours without changing the text", () => {
    const text = renderPicture(PICTURE, high(100), coloured);
    expect(text).toContain("\u001b[31m");
    // eslint-disable-next-line no-control-regex -- colour sequences are what is taken out
    expect(text.replace(/\u001b\[\d+m/g, "")).toBe(renderPicture(PICTURE, high(100), plain));
  });

  it("says how to stop a run without an end", () => {
    const { durationS: _durationS, ...endless } = PICTURE;
    expect(renderPicture(endless, high(100), plain)).toContain("61 s, Ctrl-C stops");
  });
});

describe("renderPicture beside a rival", () => {
  const rival = { name: "hpa:60", isRecorded: true, p95Seconds: [0.03, 0.9, 0.3] };
  const compared: Picture = { ...PICTURE, trend: { ...PICTURE.trend, rival } };

  it("draws the rival's p95 beneath ours and says that it is a recording", () => {
    const text = renderPicture(compared, high(100), plain);
    expect(text).toContain("p95     ▁▃▄ ▆█\nhpa:60  ▁█▄\n");
    expect(text).toContain("within the objective; hpa:60 is a recording");
  });

  it("keeps the higher of two steps where the terminal is too narrow for each", () => {
    expect(renderPicture(compared, high(50), plain)).toContain("p95     ▃▄█\nhpa:60  █▄\n");
  });

  it("names the keys where they are read, and explains them on demand", () => {
    expect(renderPicture(PICTURE, high(100), plain)).not.toContain("keys:");
    const interactive = { ...PICTURE, isInteractive: true };
    expect(renderPicture(interactive, high(100), plain)).toContain(
      "keys: w what if, e explain, k kill the predictor",
    );
    expect(renderPicture({ ...interactive, showsHelp: true }, high(100), plain)).toContain(
      "k  kills the predictor",
    );
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
