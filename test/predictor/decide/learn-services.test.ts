import type { Window } from "@tradewind/core/contract/window.ts";
import type { CostWindow } from "@tradewind/predictor/decide/cost/learn/cost-window.ts";
import { networkOf } from "@tradewind/predictor/decide/cost/learn/learn-levels.ts";
import { servicesAfter } from "@tradewind/predictor/decide/cost/learn/learn-services.ts";
import { startSecondsAfter, withRises } from "@tradewind/predictor/decide/cost/learn/starts.ts";
import { learn } from "@tradewind/predictor/decide/cost/learn/learn.ts";
import { emptyMemory, ServiceModelMemory } from "@tradewind/predictor/decide/cost/learn/state.ts";
import { demandOf, emptyProfile, isCalibrated } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import type { Targets } from "@tradewind/predictor/decide/facts/target.ts";
import { describe, expect, it } from "vitest";
import { START_MS, window, WINDOW_MS, windowSet } from "../measurements.ts";
import { costWindowOf, seen } from "./given.ts";

const withoutNetwork = (given: CostWindow): CostWindow => ({
  ...given,
  settings: { ...given.settings, cost: { ...given.settings.cost, network: false } },
});

const FACTS = { service: "backend", replicas: 2, rate: 20, ownSeconds: 0.05, podUsageCores: 0.5 };

/** What is known of the backend after these windows, one after the other. */
function after(windows: readonly Partial<Window>[], before: readonly ServiceModelMemory[] = []) {
  let services = before;
  for (const [at, part] of windows.entries()) {
    const made = Object.assign(window(FACTS, START_MS + at * WINDOW_MS), part);
    services = servicesAfter({ services: [...services] }, costWindowOf(windowSet([made])), new Map());
  }
  const [backend] = services;
  if (backend === undefined) throw new Error("nothing is known of the backend");
  return backend;
}

const same = (count: number, part: Partial<Window> = {}): Partial<Window>[] =>
  Array.from({ length: count }, () => part);

/** CPU of a container at this load, cores. */
function coresAt(load: number, { profile }: ServiceModelMemory): number {
  const { cpuSecondsPerRequest = 0, housekeepingCores = 0 } = demandOf(profile) ?? {};
  return load * cpuSecondsPerRequest + housekeepingCores;
}

describe("what is kept of a service's level and of the latency network", () => {
  it("goes on after it was written and read as if nothing had been in between", () => {
    const known = after(same(8));
    const kept = ServiceModelMemory.parse(JSON.parse(JSON.stringify(known)));
    expect(networkOf(known)).toBeDefined();
    expect(after(same(3), [kept])).toEqual(after(same(3), [known]));
  });

  it("is the level alone where the network is switched off", () => {
    const [kept] = servicesAfter(
      { services: [after(same(8))] },
      withoutNetwork(costWindowOf(windowSet([window(FACTS)]))),
      new Map(),
    );
    expect(kept?.level).toBeDefined();
    expect(kept?.network).toBeUndefined();
  });

  it("is not asked before four windows, and begins anew where another network made it", () => {
    expect(networkOf(after(same(3)))).toBeUndefined();
    expect(networkOf(after(same(4)))).toBeDefined();
    const { network, ...known } = after(same(8));
    const others = { ...known, network: { ...network!, of: "another" } };
    expect(networkOf(others)).toBeUndefined();
    expect(after(same(1), [others]).network?.windows).toBe(1);
  });

  it("is taken up from memories of releases that trained residuals, and of those that had neither", () => {
    const surroundings = { memoryRatio: null, interference: [null, null, null, null] };
    const old: unknown = { service: "backend", profile: emptyProfile(), windows: 3, surroundings };
    const read = ServiceModelMemory.parse(JSON.parse(JSON.stringify(old)));
    expect(after(same(1), [read])).not.toHaveProperty("surroundings");
  });
});

describe("what windows teach of a service", () => {
  it("is enough to be believed after three windows with load, CPU use and latency", () => {
    expect(isCalibrated(after(same(2)).profile)).toBe(false);
    expect(isCalibrated(after(same(3)).profile)).toBe(true);
  });

  it("is the CPU that 10 requests per second to a container take together with its housekeeping: 0.5 cores", () => {
    expect(coresAt(10, after(same(30)))).toBeCloseTo(0.5, 1);
  });

  it("is no CPU while replicas have just started, of which it is not known how many requests they took", () => {
    const known = after(same(20));
    const made = window({ ...FACTS, replicas: 4, podsMeasured: 2 }, START_MS + 20 * WINDOW_MS);
    const containers = made.containers.map((each, at) =>
      at < 2 ? each : { ...each, startedAtMs: made.endMs - 5_000 },
    );
    const grown = after([{ ...made, containers }], [known]);
    expect(demandOf(grown.profile)?.cpuSecondsPerRequest).toBeCloseTo(
      demandOf(known.profile)?.cpuSecondsPerRequest ?? 0,
      6,
    );
  });

  it("is not learnt from a window of which a part of the traffic is missing", () => {
    const before = after(same(3));
    expect(after(same(1, { missing: "spans were lost" }), [before])).toEqual(before);
  });

  it("is less certain after a deploy, when most pods run the new revision, and not before", () => {
    const known = after(same(10, { revision: "r1" }));
    const sigma = ({ profile }: ServiceModelMemory): number => demandOf(profile)?.sigma ?? 0;
    const rolling = after([{ revision: "r2", newestRevisionShare: 0.4 }], [known]);
    const deployed = after([{ revision: "r2", newestRevisionShare: 0.6 }], [known]);
    expect(rolling.revision).toBe("r1");
    expect(deployed.revision).toBe("r2");
    expect(sigma(deployed)).toBeGreaterThan(1.5 * sigma(rolling));
    expect(sigma(after([{ revision: "r1" }], [known]))).toBeCloseTo(sigma(rolling), 6);
  });

  it("is no deploy where the first revision becomes known", () => {
    const sigma = ({ profile }: ServiceModelMemory): number => demandOf(profile)?.sigma ?? 0;
    const known = after(same(10));
    expect(sigma(after([{ revision: "r1" }], [known]))).toBeCloseTo(sigma(after([{}], [known])), 9);
  });

  it("is a deploy to the first window that is taken in, however the new revision begins (deploy-begins-failing)", () => {
    const known = after(same(10, { revision: "r1" }));
    const sigma = ({ profile }: ServiceModelMemory): number => demandOf(profile)?.sigma ?? 0;
    const failing = after([{ revision: "r2", errorRatio: 0.9 }], [known]);
    expect(failing.revision).toBe("r1");
    const [late, usual] = ["r2", "r1"].map((revision) => sigma(after([{ revision }], [failing])));
    expect(late).toBeGreaterThan(1.5 * usual!);
  });

  it("is nothing of a window in which most requests fail: what a failure takes is no request's (fast-failures)", () => {
    const known = after(same(10));
    const { containers } = window({ ...FACTS, podUsageCores: 0.05 });
    const failing = after(same(5, { errorRatio: 0.95, containers }), [known]);
    expect(coresAt(10, failing)).toBe(coresAt(10, known));
    expect(coresAt(10, after(same(5, { errorRatio: 0.2, containers }), [known]))).toBeLessThan(
      0.8 * coresAt(10, known),
    );
  });

  it("takes what starting takes, before any request, for no housekeeping (start-as-housekeeping)", () => {
    const { containers } = window({ ...FACTS, podUsageCores: 0.8 });
    const starting = containers.map((each) => Object.assign({}, each, { startedAtMs: START_MS - 10_000 }));
    const idle = { requestsPerSecond: 0, containers: starting };
    const started = after(same(4, idle));
    const taught = after(same(20), [started]);
    const { cpuSecondsPerRequest = 0, housekeepingCores = 1 } = demandOf(taught.profile) ?? {};
    expect(housekeepingCores).toBeLessThan(0.2);
    expect(cpuSecondsPerRequest).toBeGreaterThan(0.03);
  });

  it("counts windows in which all containers are young much less", () => {
    const slow = { lastStartedAtMs: START_MS };
    const containers = (podUsageCores: number, startedAtMs?: number) =>
      window({ ...FACTS, podUsageCores }).containers.map((each) =>
        Object.assign({}, each, startedAtMs === undefined ? {} : { startedAtMs }),
      );
    const known = after(same(10));
    const young = after(same(5, { ...slow, containers: containers(0.85, START_MS - 30_000) }), [known]);
    const old = after(same(5, { ...slow, containers: containers(0.85, START_MS - 3_600_000) }), [known]);
    const [before, afterYoung, afterOld] = [known, young, old].map((each) => coresAt(10, each)) as [
      number,
      number,
      number,
    ];
    expect(afterOld).toBeGreaterThan(before + 0.01);
    expect(afterYoung - before).toBeLessThan(0.3 * (afterOld - before));
  });
});

describe("the time that pods take to start", () => {
  const model = (rising?: ServiceModelMemory["rising"]): ServiceModelMemory => ({
    service: "backend",
    profile: emptyProfile(),
    windows: 1,
    ...(rising && { rising }),
  });
  const rising = { sinceMs: START_MS, replicas: 4 };

  it("begins to count with the decision for more replicas than were wanted", () => {
    const { observations } = seen(windowSet([window(FACTS)]));
    const targets = (replicas: number): Targets =>
      new Map([["backend", { replicas, policy: "planner-prior", reasons: [] }]]);
    expect(withRises([model()], observations, targets(4), START_MS)[0]?.rising).toEqual(rising);
    expect(withRises([model()], observations, targets(2), START_MS)[0]?.rising).toBeUndefined();
    const later = START_MS + WINDOW_MS;
    expect(withRises([model(rising)], observations, targets(5), later)[0]?.rising).toEqual(rising);
    expect(withRises([model(rising)], observations, targets(2), later)[0]?.rising).toBeUndefined();
  });

  it("does not begin for replicas that still run after a decision for fewer of them", () => {
    const targets: Targets = new Map([["backend", { replicas: 4, policy: "planner-prior", reasons: [] }]]);
    for (const running of [{ replicas: 4, wanted: 3 }, { wanted: 4 }]) {
      const { observations } = seen(windowSet([window({ ...FACTS, ...running })]));
      const fewer = observations.map((each) => ({ ...each, baseReplicas: 3 }));
      expect(withRises([model()], fewer, targets, START_MS)[0]?.rising).toBeUndefined();
    }
  });

  it("ends once as many serve as were decided on", () => {
    expect(after([{ replicasReady: 3 }], [model(rising)]).rising).toEqual(rising);
    expect(after([{ replicasReady: 4 }], [model(rising)]).rising).toBeUndefined();
  });

  it("ends so where spans are missing, too", () => {
    const missing = "spans were lost";
    expect(after([{ replicasReady: 3, missing }], [model(rising)]).rising).toEqual(rising);
    expect(after([{ replicasReady: 4, missing }], [model(rising)]).rising).toBeUndefined();
  });

  it("ends where the platform has not asked for the replicas in twice the time that a decision stands", () => {
    const since = (seconds: number) => model({ ...rising, sinceMs: START_MS + WINDOW_MS - 1e3 * seconds });
    expect(after([{ replicasWanted: 2 }], [since(600)]).rising).toBeDefined();
    expect(after([{ replicasWanted: 2 }], [since(601)]).rising).toBeUndefined();
    expect(after([{ replicasWanted: 4 }], [since(601)]).rising).toBeDefined();
  });

  const at = (ms: number) => ({ endMs: START_MS + ms, mostSeconds: 600 });
  const asked = (wanted: number, unscheduled = 0) =>
    seen(windowSet([window({ ...FACTS, wanted })])).observations.map((each) => ({ ...each, unscheduled }));

  it("moves by a quarter of the difference with each start that is over", () => {
    const memory = { services: [model(rising)], startSeconds: 75 };
    expect(startSecondsAfter(memory, [model()], at(25_000), asked(4))).toBeCloseTo(62.5, 9);
  });

  it("does not move with a start that is over after more than ten minutes", () => {
    const memory = { services: [model(rising)], startSeconds: 75 };
    expect(startSecondsAfter(memory, [model()], at(600_000), asked(4))).toBeCloseTo(206.25, 9);
    expect(startSecondsAfter(memory, [model()], at(601_000), asked(4))).toBe(75);
  });

  it("is no less than a start has taken that is not over yet, up to ten minutes", () => {
    const memory = { services: [model(rising)], startSeconds: 75 };
    expect(startSecondsAfter(memory, [model(rising)], at(30_000), asked(4))).toBe(75);
    expect(startSecondsAfter(memory, [model(rising)], at(120_000), asked(4))).toBe(120);
    expect(startSecondsAfter(memory, [model(rising)], at(9_000_000), asked(4))).toBe(600);
  });

  it("does not rise with replicas that the platform does not ask for, or that no node has room for", () => {
    const memory = { services: [model(rising)], startSeconds: 75 };
    expect(startSecondsAfter(memory, [model(rising)], at(120_000), asked(3))).toBe(75);
    expect(startSecondsAfter(memory, [model(rising)], at(120_000), asked(4, 1))).toBe(75);
  });

  it("is not learnt from a start of which some windows were not seen", () => {
    const windowOf = (number: number, replicas: number) =>
      costWindowOf(windowSet([window({ ...FACTS, replicas, wanted: 4 }, START_MS + number * WINDOW_MS)]));
    const before = { ...learn(emptyMemory(75), windowOf(0, 2)), services: [model(rising)] };
    expect(learn(before, windowOf(1, 4)).startSeconds).toBeCloseTo(75 + (30 - 75) / 4, 9);
    expect(learn(before, windowOf(2, 4)).startSeconds).toBe(75);
    const going = learn(before, windowOf(2, 2));
    expect(going.services[0]).toMatchObject({ service: "backend" });
    expect(going.services[0]?.rising).toBeUndefined();
  });
});

describe("a profile whose pods come to run on other nodes", () => {
  const LOGS = new Map([["slow", Math.log(2)]]);
  const on = (classes: readonly string[], usageCores: (nodeClass: string) => number): Window => {
    const made = window({ ...FACTS, replicas: classes.length });
    const containers = made.containers.map((container, at) => {
      const nodeClass = classes[at]!;
      return Object.assign({}, container, { nodeClass, cpuUsageCores: usageCores(nodeClass) });
    });
    return { ...made, containers };
  };
  const learnt = (windows: readonly Window[], before: readonly ServiceModelMemory[] = []) => {
    let services = before;
    for (const each of windows)
      services = servicesAfter({ services: [...services] }, costWindowOf(windowSet([each])), LOGS);
    return services;
  };
  const demand = (services: readonly ServiceModelMemory[]): number =>
    demandOf(services[0]!.profile)!.cpuSecondsPerRequest;
  const fast = learnt(Array.from({ length: 20 }, () => on(["fast", "fast"], () => 0.2)));

  it("takes the CPU a request that the new nodes are known to cost at once: twice as much on nodes of half the speed", () => {
    const slow = learnt([on(["slow", "slow"], () => 0.4)], fast);
    expect(demand(slow) / demand(fast)).toBeCloseTo(2, 1);
    const both = learnt([on(["fast", "slow"], (nodeClass) => (nodeClass === "slow" ? 0.4 : 0.2))], fast);
    expect(demand(both) / demand(fast)).toBeCloseTo(1.5, 1);
    expect(both[0]!.onClasses).toEqual({ fast: 1, slow: 1 });
  });

  it("is the demand that it was when they come back", () => {
    const back = learnt([on(["slow", "slow"], () => 0.4), on(["fast", "fast"], () => 0.2)], fast);
    expect(demand(back) / demand(fast)).toBeCloseTo(1, 1);
  });

  it("forgets the nodes where their classes are not known any more", () => {
    const { onClasses } = learnt([window(FACTS)], fast)[0]!;
    expect(onClasses).toBeUndefined();
  });
});
