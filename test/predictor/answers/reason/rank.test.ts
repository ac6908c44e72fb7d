import type { Call, Candidate, Incident } from "@tradewind/predictor/answers/reason/incident.ts";
import { rank } from "@tradewind/predictor/answers/reason/rank.ts";
import { pastOf, read } from "@tradewind/predictor/answers/reason/signals.ts";
import type { Series, SignalName } from "@tradewind/predictor/answers/reason/signals.ts";
import { rootsOf } from "@tradewind/predictor/answers/reason/verdict.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const PAST = 60;

/** Around a usual value by 1 %, then at another. */
function series(signal: SignalName, usual: number, now = usual): Series {
  const normal = Array.from({ length: PAST }, (_, at) => usual * (1 + 0.01 * Math.sin(at)));
  return { signal, normal, now: [now, now] };
}

const service = (name: string, ...all: Series[]): Candidate => ({ name, series: all });

const incident = (candidates: readonly Candidate[], calls: readonly Call[] = []): Incident => ({
  entry: "web",
  candidates,
  calls,
  leastPast: 40,
});

/** `web` calls `cart`; both serve 20 requests a second; `web` answers late. */
const slowWeb = [series("requestRate", 20), series("selfTimeP95", 0.02), series("responseP95", 0.1, 0.5)];
const calls: Call[] = [{ caller: "web", callee: "cart" }];

const firstOf = (one: Incident): string | undefined => {
  const [first] = rank(one).suspects;
  return first && `${first.service} ${first.type}`;
};

describe("a signal against its past", () => {
  it("has the median and 1.4826 times the median distance from it: of 1 to 5 that is 3 and 1.4826", () => {
    expect(pastOf([5, 1, 4, 2, 3])).toEqual({ median: 3, sigma: 1.4826 });
    // Distances of 1, 2, 3, 10 from 2.5 are 0.5, 0.5, 1.5, 7.5: their median is 1.
    expect(pastOf([1, 2, 3, 10])).toEqual({ median: 2.5, sigma: 1.4826 });
  });

  it("is high beyond two spreads, of which 5 % of the median is the least", () => {
    const constant = { signal: "requestRate" as const, normal: Array.from({ length: PAST }, () => 100) };
    expect(read({ ...constant, now: [109] }, 40)).toMatchObject({ z: 1.8, bin: "medium" });
    expect(read({ ...constant, now: [111] }, 40)).toMatchObject({ z: 2.2, bin: "high" });
    expect(read({ ...constant, now: [89] }, 40)).toMatchObject({ z: -2.2, bin: "low" });
  });

  it("is high from its absolute band on, whatever the past was like", () => {
    expect(read(series("throttledRatio", 0.5), 40)).toMatchObject({ bin: "high" });
  });

  it("has only the absolute band where too few windows are known", () => {
    const young = { signal: "cpuUtilisation" as const, normal: [0.1], now: [0.8] };
    expect(read(young, 40)).toEqual({ signal: "cpuUtilisation", value: 0.8, z: 0, bin: "medium" });
    expect(read({ ...young, now: [0.9] }, 40)).toMatchObject({ bin: "high" });
  });

  it("speaks for a service by its absolute band where nothing else is known", () => {
    const young = { signal: "throttledRatio" as const, normal: [], now: [0.6] };
    const { suspects } = rank(incident([service("web"), service("cart", young)]));
    expect(suspects).toMatchObject([{ service: "cart", type: "C", confidence: 1 }]);
  });

  it("is absent without a value now", () => {
    expect(read({ ...series("errorRatio", 0), now: [] }, 40)).toBeUndefined();
  });
});

describe("an application whose users are not measured", () => {
  const rate = series("requestRate", 20);
  const blind = (now: number): Incident =>
    incident(
      [service("web", rate), service("cart", rate, series("cpuUtilisation", 0.3, now)), service("pay", rate)],
      calls,
    );

  it("has the service named whose resource is far from usual", () => {
    const ranking = rank(blind(0.95));
    expect(ranking.alarm).toBe("resource");
    expect(rootsOf(ranking).map(({ service: name, type }) => `${name} ${type}`)).toEqual(["cart C"]);
  });

  it("has the one named first that is farther from usual, beyond all that is likely", () => {
    const one = incident([
      service("cart", rate, series("memoryBytes", 1e8, 2e8)),
      service("pay", rate, series("memoryBytes", 1e8, 9e8)),
    ]);
    expect(rootsOf(rank(one)).map(({ service: name }) => name)[0]).toBe("pay");
  });

  it("has nobody named while all is about as ever", () => {
    expect(rank(blind(0.4)).alarm).toBe("none");
    expect(rootsOf(rank(blind(0.4)))).toEqual([]);
  });
});

describe("failures that only users see", () => {
  it("are those of a callee that shows signs, unless failures are counted there and none is", () => {
    const web = service("web", series("requestRate", 20), series("errorRatio", 0, 0.1));
    const signs = [
      series("requestRate", 20),
      series("responseP95", 0.05, 0.5),
      series("cpuUtilisation", 0.04, 0.25),
    ];
    expect(firstOf(incident([web, service("cart", ...signs)], calls))).toBe("cart C");
    const counted = service("cart", ...signs, series("errorRatio", 0));
    expect(firstOf(incident([web, counted], calls))).toBe("web X");
  });
});

describe("a busy node", () => {
  const crowded = (name: string, ...more: Series[]): Candidate =>
    service(name, series("requestRate", 20), series("interferenceCpu", 0.1, 0.7), ...more);
  const fast = series("selfTimeP95", 0.02);
  const late = series("selfTimeP95", 0.05, 0.4);

  it("is no cause where most of those on it are as fast as ever", () => {
    const all = [
      service("web", ...slowWeb),
      crowded("cart", late),
      crowded("ads", fast),
      crowded("user", fast),
    ];
    expect(firstOf(incident(all, calls))).toBe("cart X");
  });

  it("is the cause where most of those on it are slow", () => {
    const all = [
      service("web", ...slowWeb),
      crowded("cart", late),
      crowded("ads", late),
      crowded("user", fast),
    ];
    expect(firstOf(incident(all, calls))).toMatch(/ I$/);
  });

  it("is the cause where too few are known to be on it", () => {
    expect(firstOf(incident([service("web", ...slowWeb), crowded("cart", late)], calls))).toBe("cart I");
  });
});

describe("CPU that is short on a crowded node", () => {
  const starved = (...more: Series[]): Candidate =>
    service(
      "cart",
      series("requestRate", 20),
      series("selfTimeP95", 0.05, 0.4),
      series("throttledRatio", 0.01, 0.8),
      series("cpuUtilisation", 0.3, 0.4),
      series("interferenceCpu", 0.1, 0.7),
      ...more,
    );

  it("is a matter of others where each request takes as much as ever, and of its own where it takes more", () => {
    const slow = service("web", ...slowWeb);
    expect(firstOf(incident([slow, starved(series("cpuSecondsPerRequest", 0.01))], calls))).toBe("cart I");
    expect(firstOf(incident([slow, starved(series("cpuSecondsPerRequest", 0.01, 0.1))], calls))).toBe(
      "cart C",
    );
  });
});

describe("requests that reach a service late", () => {
  const late = { caller: "web", callee: "cart", transit: series("transitTime", 0.001, 0.2) };
  const cart = (...more: Series[]) =>
    service("cart", series("requestRate", 20), series("selfTimeP95", 0.05), ...more);

  it("are a matter of the network where it has CPU", () => {
    expect(firstOf(incident([service("web", ...slowWeb), cart()], [late]))).toBe("cart N");
  });

  it("are no matter of a callee that other callers reach as fast as ever", () => {
    const soon = { ...late, caller: "pay", transit: series("transitTime", 0.001) };
    const all = [
      service("web", ...slowWeb),
      service("pay", series("requestRate", 20)),
      cart(),
      service("ads"),
    ];
    const toAds = { ...late, callee: "ads" };
    expect(firstOf(incident(all, [late, soon, toAds]))).toBe("ads N");
  });

  it("are told apart by how much later the caller answers where one time stands for all its calls", () => {
    const ads = service("ads", series("requestRate", 60), series("selfTimeP95", 0.05));
    // 0.2 s more for a call; answers 0.2 s or 0.6 s later: one call to `cart`, or three to `ads`.
    const first = (grown: number): string | undefined => {
      const web = [series("requestRate", 20), series("responseP95", 0.1, 0.1 + grown)];
      const each = [
        { ...late, perRequest: 1 },
        { ...late, callee: "ads", perRequest: 3 },
      ];
      return firstOf(incident([service("web", ...web), cart(), ads], each));
    };
    expect(first(0.2)).toBe("cart N");
    expect(first(0.6)).toBe("ads N");
    const never = [
      { ...late, perRequest: 0 },
      { ...late, callee: "ads", perRequest: 0 },
    ];
    const { suspects } = rank(incident([service("web", ...slowWeb), cart(), ads], never));
    expect(suspects.every(({ score }) => Number.isFinite(score))).toBe(true);
  });

  it("say nothing of the network where the caller waits for CPU", () => {
    const web = service("web", ...slowWeb, series("throttledRatio", 0.01, 0.9));
    expect(firstOf(incident([web, cart()], [late]))).toBe("web C");
  });

  it("are a matter of CPU where it is throttled", () => {
    const throttled = cart(series("throttledRatio", 0.01, 0.8));
    expect(firstOf(incident([service("web", ...slowWeb), throttled], [late]))).toBe("cart C");
  });
});

describe("a new version", () => {
  it("is the cause of the CPU that it takes", () => {
    const cart = service(
      "cart",
      series("selfTimeP95", 0.05, 0.4),
      series("cpuSecondsPerRequest", 0.01, 0.1),
      series("newVersion", 0, 1),
    );
    expect(firstOf(incident([service("web", ...slowWeb), cart], calls))).toBe("cart V");
  });
});

describe("a route of few requests that fail", () => {
  const fails = [
    service(
      "web",
      series("requestRate", 20),
      series("selfTimeP95", 0.02, 0.03),
      series("errorRatio", 0, 0.008),
    ),
    service("pay", series("requestRate", 0.5), series("responseP95", 0.05), series("errorRatio", 0, 0.3)),
  ];

  it("has a cause where the objective says that requests fail, though they are few of all", () => {
    const one = { ...incident(fails, [{ caller: "web", callee: "pay" }]), isMissed: true };
    expect(rootsOf(rank({ ...one, harm: "failures" })).map((each) => each.service)).toEqual(["pay"]);
    expect(rootsOf(rank(one)).map((each) => each.service)).toEqual(["web"]);
  });
});

describe("ranking the services of an incident", () => {
  it("names the service whose own time grew, with the resource that it is short of", () => {
    const cart = service(
      "cart",
      series("requestRate", 20),
      series("selfTimeP95", 0.05, 0.4),
      series("throttledRatio", 0.01, 0.6),
    );
    expect(firstOf(incident([service("web", ...slowWeb), cart], calls))).toBe("cart C");
  });

  it("does not suspect a caller for the time of its callee where only response times are known", () => {
    const web = service("web", series("requestRate", 20), series("responseP95", 0.1, 0.5));
    const cart = service("cart", series("requestRate", 20), series("responseP95", 0.05, 0.44));
    expect(firstOf(incident([web, cart], calls))).toBe("cart X");
  });

  it("counts a second of a service that is called twice for each request twice", () => {
    const once = service("cart", series("requestRate", 20), series("selfTimeP95", 0.1, 0.2));
    const twice = service("stock", series("requestRate", 40), series("selfTimeP95", 0.1, 0.19));
    expect(firstOf(incident([service("web", ...slowWeb), once, twice]))).toBe("stock X");
  });

  it.each<[string, Series[], string]>([
    ["memory", [series("memoryRatio", 0.4, 0.97)], "M"],
    ["kills for lack of memory", [series("oomKills", 0, 2)], "M"],
    ["a new version", [series("newVersion", 0, 1)], "V"],
    ["disk traffic", [series("diskBytes", 1e6, 9e7)], "D"],
    ["a noisy neighbour", [series("interferenceCpu", 0.1, 0.8), series("cpuUtilisation", 0.3, 0.45)], "I"],
    [
      "more load that costs as much for each request",
      [
        series("cpuUtilisation", 0.3, 0.95),
        series("cpuSecondsPerRequest", 0.01),
        series("requestRate", 20, 60),
      ],
      "L",
    ],
    [
      "more load on a node that is as crowded as ever",
      [
        series("cpuUtilisation", 0.3, 0.55),
        series("cpuSecondsPerRequest", 0.01),
        series("requestRate", 20, 60),
        series("interferenceCpu", 0.97, 0.95),
      ],
      "L",
    ],
    [
      "more CPU for each request",
      [
        series("cpuUtilisation", 0.3, 0.95),
        series("cpuSecondsPerRequest", 0.01, 0.03),
        series("requestRate", 20, 60),
      ],
      "C",
    ],
    ["nothing that it uses", [], "X"],
  ])("says by %s which resource it is", (_name, signs, type) => {
    const cart = service("cart", series("selfTimeP95", 0.05, 0.4), ...signs);
    expect(firstOf(incident([service("web", ...slowWeb), cart], calls))).toBe(`cart ${type}`);
  });

  it("blames the network to a service that all its callers reach late", () => {
    const transit = series("transitTime", 0.002, 0.3);
    const network = incident(
      [
        service("web", ...slowWeb),
        service("cart", series("requestRate", 20)),
        service("user", series("requestRate", 20)),
      ],
      [
        { caller: "web", callee: "cart", transit },
        { caller: "user", callee: "cart", transit },
        { caller: "web", callee: "user", transit: series("transitTime", 0.002) },
      ],
    );
    expect(firstOf(network)).toBe("cart N");
  });

  it("follows failures to the service that they begin in", () => {
    const failing = incident(
      [
        service("web", series("requestRate", 20), series("responseP95", 0.1), series("errorRatio", 0, 0.2)),
        service("cart", series("requestRate", 20), series("errorRatio", 0, 0.2)),
      ],
      calls,
    );
    expect(rank(failing)).toMatchObject({ harm: "failures", alarm: "strong" });
    expect(firstOf(failing)).toBe("cart X");
  });

  it("trusts what a service measures of itself more than what its callers say of a name", () => {
    const outside = { ...service("cart:80", series("responseP95", 0.05, 0.44)), isOutside: true };
    const cart = service("cart", series("responseP95", 0.05, 0.4));
    expect(firstOf(incident([service("web", ...slowWeb), outside, cart]))).toBe("cart X");
  });

  it("counts all of a time while nothing is known of the past", () => {
    const young = (name: string, seconds: number): Candidate =>
      service(
        name,
        { signal: "selfTimeP95", normal: [], now: [seconds] },
        { signal: "responseP95", normal: [], now: [1] },
      );
    const one = { ...incident([young("web", 0.1), young("cart", 0.6)]), isMissed: true };
    expect(firstOf(one)).toBe("cart X");
  });

  it("gives finite scores whose confidences add up to 1, whatever the values", () => {
    const values = fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { maxLength: 60 });
    const any = fc.record({ normal: values, now: values });
    fc.assert(
      fc.property(any, any, any, (time, cpu, errors) => {
        const cart = service("cart", { signal: "selfTimeP95", ...time }, { signal: "cpuCores", ...cpu });
        const web = service("web", { signal: "responseP95", ...time }, { signal: "errorRatio", ...errors });
        const { suspects } = rank(incident([web, cart], calls));
        const sum = suspects.reduce((all, { confidence }) => all + confidence, 0);
        expect(suspects.every(({ score }) => Number.isFinite(score) && score > 0)).toBe(true);
        expect(sum).toBeCloseTo(suspects.length > 0 ? 1 : 0, 9);
      }),
    );
  });
});

describe("naming a cause", () => {
  const cart = service("cart", series("selfTimeP95", 0.05, 0.4));

  it("abstains where users notice nothing", () => {
    const web = service("web", series("requestRate", 20), series("responseP95", 0.1));
    const calm = rank(incident([web, cart], calls));
    expect(calm.alarm).toBe("none");
    expect(rootsOf(calm)).toEqual([]);
  });

  it("asks for two signs where the response time is barely unusual", () => {
    const web = service("web", series("requestRate", 20), series("responseP95", 0.1, 0.113));
    expect(rank(incident([web, cart], calls)).alarm).toBe("weak");
    expect(rootsOf(rank(incident([web, cart], calls)))).toEqual([]);
    const throttled = service("cart", ...cart.series, series("throttledRatio", 0, 0.5));
    expect(rootsOf(rank(incident([web, throttled], calls))).map((each) => each.service)).toEqual(["cart"]);
  });

  it("names what a missed objective begins with though the response time is as usual", () => {
    const web = service("web", series("requestRate", 20), series("responseP95", 0.1));
    const missed = { ...incident([web, cart], calls), isMissed: true };
    expect(rootsOf(rank(missed)).map((each) => each.service)).toEqual(["cart"]);
  });
});
