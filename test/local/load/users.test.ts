import { seededRng } from "@tradewind/core/values/rng.ts";
import { HOTEL } from "@tradewind/local/application/hotel.ts";
import { arrivals } from "@tradewind/local/load/arrivals.ts";
import { mixOf, parseUsers } from "@tradewind/local/load/users.ts";
import { LocalOptions } from "@tradewind/local/options.ts";
import { cpuSecondsOf, parseUtilisation, ratesOf } from "@tradewind/local/load/utilisation.ts";
import { describe, expect, it } from "vitest";

const [SEARCH, RECOMMENDATIONS, RESERVATION, LOGIN] = HOTEL.flows.map(({ route }) => route);

describe("users of several types", () => {
  it("come in the shares of their part of the run: first all search, then half buy and half log in", () => {
    const trace = parseUsers("# search recommend buy login\n1 0 0 0\n0, 0, 2, 2\n", "users.txt", HOTEL.flows);
    const seen = new Map<string, number>();
    for (const { atSeconds, route } of arrivals([50], 100, mixOf(trace, 100, HOTEL.flows), seededRng(3))) {
      if (atSeconds >= 100) break;
      const key = `${atSeconds < 50 ? "first" : "second"} ${route}`;
      seen.set(key, (seen.get(key) ?? 0) + 1);
    }
    expect([...seen.keys()].sort()).toEqual(
      [`first ${SEARCH}`, `second ${LOGIN}`, `second ${RESERVATION}`].sort(),
    );
    const bought = seen.get(`second ${RESERVATION}`) ?? 0;
    const all = bought + (seen.get(`second ${LOGIN}`) ?? 0);
    expect(Math.abs(bought / all - 0.5)).toBeLessThan(5 * Math.sqrt(0.25 / all));
  });

  it.each([
    ["1 2 3", "line 1"],
    ["1 1 1 1\n0 0 0 0", "line 2"],
    ["1 1 -1 1", "line 1"],
    ["# nothing", "no row"],
  ])("are refused where a row is not one share for each route: %j", (text, what) => {
    expect(() => parseUsers(text, "users.txt", HOTEL.flows)).toThrow(what);
  });
});

describe("a load that is given as CPU in use", () => {
  it("is what keeps the first containers as busy: 8 of 0.2 cores, of which a mean request takes 5.0 ms", () => {
    // Search: 0.5 + 0.8 + 1.2 + 1.5 + 1.2 ms. Recommendations 3.2, reservation 2.5, login 1 ms.
    expect(cpuSecondsOf(HOTEL, "frontend", SEARCH ?? "")).toBeCloseTo(0.0052, 12);
    expect(cpuSecondsOf(HOTEL, "frontend", RECOMMENDATIONS ?? "")).toBeCloseTo(0.0032, 12);
    const mean = 0.6 * 0.0052 + 0.3 * 0.0032 + 0.05 * 0.0025 + 0.05 * 0.001;
    const [half = 0, none] = ratesOf([0.5, 0], HOTEL);
    expect(half).toBeCloseTo((0.5 * 1.6) / mean, 9);
    expect(none).toBe(0);
  });

  it("is refused where a value is no share", () => {
    expect(parseUtilisation("0.2\n# peak\n1\n", "use.txt", HOTEL)).toHaveLength(2);
    expect(() => parseUtilisation("35", "use.txt", HOTEL)).toThrow("0.35 for 35 %");
  });

  it("is not given together with a load in requests", () => {
    const both = LocalOptions.safeParse({ load: "a.txt", loadUtilisation: "b.txt" });
    expect(both.error?.issues[0]?.message).toContain("--load-utilisation");
  });
});
