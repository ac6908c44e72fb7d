import { describe, expect, it } from "vitest";
import { backtest } from "@tradewind/simulator/backtest/backtest.ts";
import type { BacktestReport } from "@tradewind/simulator/backtest/backtest.ts";
import { BACKTEST_CONTENDERS } from "@tradewind/simulator/backtest/contenders.ts";
import { historyOf, splitHistory } from "@tradewind/simulator/backtest/history.ts";
import { htmlReport } from "@tradewind/simulator/backtest/report/html.ts";
import { plain } from "@tradewind/core/terminal/style.ts";
import { terminalReport } from "@tradewind/simulator/backtest/report/terminal.ts";
import { APPLICATION, recording } from "./recording.ts";

const contender = (name: string) => BACKTEST_CONTENDERS.filter((each) => each.name === name);
const replay = (name: string, sets = recording(240), seed = 1): Promise<BacktestReport> =>
  backtest({
    application: APPLICATION,
    sets,
    fitRatio: 0.5,
    contenders: contender(name),
    podStartSeconds: 30,
    seed,
  });

describe("historyOf", () => {
  it("puts windows and routes of an interval together, oldest first, and leaves out halves", () => {
    const [first, second] = recording(2);
    const flows = [second!, first!].flatMap(({ endMs, flows: all, startMs }) =>
      all.map((flow) => ({ ...flow, startMs, endMs })),
    );
    expect(historyOf([...second!.windows, ...first!.windows], flows)).toEqual([first, second]);
    expect(historyOf(first!.windows, [])).toEqual([]);
  });

  it("splits by time", () => {
    const { fit, later } = splitHistory(recording(10), 0.6);
    expect([fit.length, later.length]).toEqual([6, 4]);
    expect(fit.at(-1)!.endMs).toBeLessThanOrEqual(later[0]!.startMs);
  });

  it("splits by time where old windows are longer than new ones", () => {
    const short = recording(40);
    const minute = 60_000;
    const long = Array.from({ length: 10 }, (_, place) => {
      const endMs = short[0]!.startMs - (9 - place) * minute;
      return { ...short[0]!, startMs: endMs - minute, endMs };
    });
    const { fit, later } = splitHistory([...long, ...short], 0.5);
    // Twenty minutes in all: ten of one minute, then forty of a quarter of one.
    expect([fit.length, later.length]).toEqual([10, 40]);
  });
});

describe("a backtest", () => {
  it("predicts a processor-sharing application within a tenth, and says what a constant would", async () => {
    const { recorded, routes } = await replay("static");
    const [route] = routes;
    expect(route!.route).toBe("GET /");
    expect(route!.all.meanRatio).toBeLessThan(0.1);
    expect(route!.constant.meanRatio).toBeGreaterThan(0.25);
    expect(route!.all.intervals).toBe(120);
    expect(recorded.cores).toBeCloseTo(2, 9);
    expect(recorded.intervalsOver).toBeGreaterThan(0.2);
  });

  it("misses less with more replicas than ran, for their price", async () => {
    const { policies, recorded } = await replay("static");
    const [{ result }] = policies as [BacktestReport["policies"][number]];
    // static is 1.5 times what ran: 2 replicas of each instead of 1.
    expect(result.cores).toBeCloseTo(4, 6);
    expect(result.requestsOver).toBeLessThan(recorded.requestsOver / 2);
    expect(result.requests).toBeCloseTo(recorded.requests, -1);
  });

  it("charges what ran without its sidecars, as replays do", async () => {
    const proxy = { id: "proxy", sidecar: true, cpuLimitCores: 2, memoryLimitBytes: 1e9 } as const;
    const sets = recording(240).map((set) => ({
      ...set,
      windows: set.windows.map((window) => ({ ...window, containers: [...window.containers, proxy] })),
    }));
    const { recorded } = await replay("static", sets);
    expect(recorded.cores).toBeCloseTo(2, 9);
    expect(recorded.gigabytes).toBeCloseTo(0.512, 9);
  });

  it("lets KEDA follow requests in windows longer than the minute that its query looks back", async () => {
    const sets = recording(240).map((set) => {
      const [startMs, endMs] = [set.startMs * 6, set.endMs * 6];
      const windows = set.windows.map((window) => ({ ...window, startMs, endMs }));
      return { ...set, startMs, endMs, windows };
    });
    const [{ result }] = (await replay("keda-requests", sets)).policies as [
      BacktestReport["policies"][number],
    ];
    expect(result.starts).toBeGreaterThan(0);
    expect(result.stops).toBeGreaterThan(0);
  });

  it("lets an HPA follow the recorded load through its own control path", async () => {
    const { policies } = await replay("hpa-cpu");
    expect(policies[0]!.result.starts).toBeGreaterThan(0);
    expect(policies[0]!.result.cores).toBeGreaterThan(2);
  });

  it("gives the same bytes for the same seed, and Tradewind decides by a level of its own", async () => {
    const [one, other] = await Promise.all([replay("tradewind-queue"), replay("tradewind-queue")]);
    expect(JSON.stringify(one)).toBe(JSON.stringify(other));
    expect(one.policies[0]!.result.levels).toHaveProperty("queue");
  });

  it("says what is missing when the history is too short or has no route through the entry", async () => {
    await expect(replay("static", recording(30))).rejects.toThrow(
      "needs 20 intervals to fit and 20 to replay, has 15 and 15",
    );
    const elsewhere = recording(80).map((set) => ({
      ...set,
      flows: set.flows.map((flow) => ({ ...flow, entryService: "back" })),
    }));
    await expect(replay("static", elsewhere)).rejects.toThrow("no route enters through 'front'");
  });
});

describe("the report of a backtest", () => {
  it("has the same figures in text and page, names what is simulated, and needs no network", async () => {
    const report = await replay("static");
    const [text, page] = [terminalReport(report, plain), htmlReport(report)];
    for (const shown of ["GET /", "as it ran", "static", "measured", "simulated"]) {
      expect(text).toContain(shown);
      expect(page).toContain(shown);
    }
    expect(page).not.toMatch(/<script|https?:\/\/|@import|url\(/);
    expect(page.match(/<svg/g)).toHaveLength(2);
  });

  it("shows names from traces as text, whatever they hold", async () => {
    const hostile = recording(80).map((set) => ({
      ...set,
      flows: set.flows.map((flow) => ({ ...flow, flow: '<img src=x onerror="alert(1)">' })),
    }));
    const page = htmlReport(await replay("static", hostile));
    expect(page).not.toContain("<img");
    expect(page).toContain("&lt;img src=x onerror=&quot;alert(1)&quot;&gt;");
  });
});
