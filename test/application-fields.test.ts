import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Application } from "@tradewind/core/contract/application.ts";
import { decideWish } from "./exporter/decide-wish.ts";
import { Brownouts } from "@tradewind/exporter/decide/brownout/brownouts.ts";
import { seeBrownouts } from "@tradewind/exporter/decide/brownout/sight.ts";
import { calendarsBy } from "@tradewind/exporter/decide/calendar/calendars.ts";
import { ChangeQueue } from "@tradewind/exporter/decide/approval/change-queue.ts";
import { limitsBy } from "@tradewind/exporter/decide/limits/limits.ts";
import { modeOf } from "@tradewind/exporter/decide/limits/mode.ts";
import { ExporterOptions } from "@tradewind/exporter/options.ts";
import { answeredReplicas } from "@tradewind/exporter/keep/recommendation.ts";
import { PodSizes, sharesOf } from "@tradewind/exporter/decide/quota/claims.ts";
import { bookEntry } from "@tradewind/exporter/keep/book-entry.ts";
import { allConfiguredNames } from "@tradewind/kubernetes/workloads/configured-names.ts";
import { namedWorkloads } from "@tradewind/kubernetes/workloads/named-kinds.ts";
import { placementsOf } from "@tradewind/predictor/answers/placement/placements.ts";
import {
  budgetRules,
  budgetsAfter,
  budgetsNow,
} from "@tradewind/predictor/decide/cost/learn/error-budget.ts";
import type { BudgetMemory } from "@tradewind/predictor/decide/cost/learn/error-budget.ts";
import { flowObjective } from "@tradewind/predictor/decide/facts/objective.ts";
import { PolicySettings } from "@tradewind/predictor/decide/facts/settings.ts";
import { decide } from "@tradewind/predictor/decide/ladder.ts";
import { Period } from "@tradewind/predictor/answers/report/period.ts";
import { overWindow, shadowHpa, startingWith } from "@tradewind/predictor/answers/shadow/replicas.ts";
import type { PolicyInputs } from "@tradewind/predictor/decide/inputs.ts";
import { application as resizable, inputs, START_MS } from "./predictor/measurements.ts";
import { FRONTEND, made } from "./predictor/decide/decisions.ts";
import { chained } from "./predictor/decide/modelled.ts";
import { chain, queueing, service, size } from "./predictor/decide/priced.ts";
import { SHOP, shop, simulate } from "./predictor/decide/simulated-application.ts";
import { wishOf } from "./exporter/wish.ts";

type Given = z.input<typeof Application>;

const base = (changes: Partial<Given> = {}): Application =>
  Application.parse({
    name: "hotel",
    namespace: "shop",
    entry: "frontend",
    objective: { milliseconds: 200 },
    mode: "act",
    ...changes,
  });

const NOON_MS = Date.parse("2026-07-06T12:00:00Z");

/** What the exporter decides at noon of a Monday on 40 replicas of odd sizes, of which 20 run. */
function decided(application: Application, at = NOON_MS): unknown {
  const find = () => application;
  const queue = new ChangeQueue([], async () => true, find);
  const wish = wishOf({
    allocation: { replicas: 40, cpuCores: 0.55, memoryBytes: 230e6 },
    observed: { replicasReady: 20, replicasWanted: 20, cpuCores: 0.5, memoryBytes: 210e6, complete: true },
    evidence: { needReplicas: 30 },
    inputs: { windowHash: "0123456789abcdef", windowEndMs: at },
  });
  const plan = {
    application: "hotel",
    sequence: 1,
    predictorStartedAtMs: 0,
    plannedAtMs: at,
    mode: "act" as const,
  };
  const approval = queue.contextOf(plan, wish, undefined);
  const rules = {
    exporterStartedAtMs: 0,
    staleAfterSeconds: 300,
    restartGraceSeconds: 0,
    limitsOf: limitsBy(ExporterOptions.parse({}).limits, find),
    calendarsOf: calendarsBy(find),
    modeOf: () => modeOf(plan, "shop", application),
  };
  const decision = decideWish(wish, plan, { exporterStartedAtMs: 0 }, rules, {
    ...(approval && { approval }),
  });
  if ("refusal" in decision) return decision;
  const { actions, final } = decision.record;
  const entry = bookEntry(decision.record, 0);
  const sizes = new PodSizes();
  sizes.note("shop", [
    { service: "search", takes: { pods: 1 } },
    { service: "report", takes: { pods: 1 } },
  ]);
  const rival = Object.assign({}, entry, {
    recommendation: { ...entry.recommendation, application: "batch", service: "report" },
  });
  const room = { quotas: [{ name: "team", left: { pods: 10 } }], pods: [] };
  const other = Application.parse({ ...base(), name: "batch", priority: 0 });
  const shares = sharesOf(room, [entry, rival], sizes, (_, name) => (name === "batch" ? other : application));
  return { actions, final, answered: answeredReplicas(decision.record), share: shares.get("search") };
}

/** Who goes down for a service of 20 replicas that misses its objective in a full quota. */
function browned(application: Application): unknown {
  const brownouts = new Brownouts();
  const wish = (service: string, replicas: number, routeOverObjective: number) =>
    wishOf({
      service,
      allocation: { replicas },
      observed: { replicasReady: 20, replicasWanted: 20, complete: true },
      evidence: { routeOverObjective },
      inputs: { windowHash: "0123456789abcdef", windowEndMs: NOON_MS },
    });
  const rules = {
    exporterStartedAtMs: 0,
    staleAfterSeconds: 300,
    restartGraceSeconds: 0,
    limitsOf: limitsBy(ExporterOptions.parse({}).limits, () => application),
  };
  const sizes = new PodSizes();
  sizes.note("shop", [
    { service: "search", takes: { pods: 1 } },
    { service: "frontend", takes: { pods: 1 } },
  ]);
  const room = { quotas: [{ name: "team", left: { pods: 0 } }], pods: [] };
  return [0, 15_000].map((afterMs) => {
    const header = {
      application: "hotel",
      namespace: "shop",
      sequence: 1,
      predictorStartedAtMs: 0,
      plannedAtMs: NOON_MS + afterMs,
      objective: { percentile: 0.95, seconds: 0.2 },
      mode: "act" as const,
      room,
    };
    const own = [wish("search", 20, 0.5), wish("frontend", 22, 2)].map((each) => {
      const decision = decideWish(each, header, { exporterStartedAtMs: 0 }, rules);
      if ("refusal" in decision) throw new Error("refused");
      return bookEntry(decision.record, 0);
    });
    const find = () => application;
    const shares = sharesOf(room, own, sizes, find);
    const rest = { others: [], isHeld: () => false, application: find };
    return seeBrownouts(brownouts, { header, own, shares, sizes, ...rest });
  });
}

const calendar = {
  name: "day",
  from: "0 8 * * *",
  until: "0 18 * * *",
  floor: { replicas: 60 },
} satisfies NonNullable<Given["calendars"]>[number];
const withCalendar = (changes: object): Application => base({ calendars: [{ ...calendar, ...changes }] });
const ceiling = (changes: object) =>
  withCalendar({ floor: undefined, ceiling: { replicas: 25, ...changes } });
const search = (changes: object): Application => base({ services: [{ name: "search", ...changes }] });

const RUN = simulate({
  services: SHOP,
  application: shop(),
  conditions: (at) => ({ requestsPerSecond: at < 60 ? 40 : at < 120 ? 150 : 40 }),
  seconds: 240,
  windowSeconds: 5,
  podStartSeconds: 8,
  seed: 3,
});

/** What the predictor plans of recorded windows. */
function planned(changes: object, choice: PolicyInputs["choice"] = "auto"): unknown {
  const application = shop(changes);
  let { state } = inputs(RUN[0]!.windowSet, { application });
  return RUN.map(({ outcome, windowSet }) => {
    const nowMs = outcome.plan.plannedAtMs;
    const next = decide(inputs(windowSet, { application, choice, state, nowMs }));
    ({ state } = next);
    return next.plan.wishes.map(({ advice, allocation, service }) => ({ advice, allocation, service }));
  });
}

/** What the predictor plans of two services of containers that can be resized, while their load rises. */
function sized(prices: object): unknown {
  const application = resizable({ resize: "limits", prices });
  let state: PolicyInputs["state"] | undefined;
  return Array.from({ length: 14 }, (_, window) => {
    const startMs = START_MS + 15_000 * window;
    const requestsPerSecond = 20 + 10 * window;
    const one = {
      replicas: 3,
      cores: 1,
      baseSeconds: 0.05,
      requestsPerSecond,
      memoryBytes: 2e9,
      usedBytes: 1.2e9,
    };
    const set = chained(
      [
        { ...one, service: "frontend", cpuSecondsPerRequest: 0.01 },
        { ...one, service: "search", cpuSecondsPerRequest: 0.02 },
      ],
      startMs,
    );
    const next = decide(inputs(set, { application, ...(state && { state }), nowMs: set.endMs + 5_000 }));
    ({ state } = next);
    return next.plan.wishes.map(({ advice, allocation, service }) => ({ advice, allocation, service }));
  });
}

/** What the predictor plans of a service behind one of two routes, by what its misses count. */
function weighed(weight: number): unknown {
  const objectives = [{ route: "GET /rare", milliseconds: 200, weight }];
  let state: PolicyInputs["state"] | undefined;
  return Array.from({ length: 8 }, (_, window) => {
    const set = chained([FRONTEND, made("backend")], START_MS + 15_000 * window);
    const [through] = set.flows;
    const flows = [
      { ...through!, flow: "GET /rare", requestsPerSecond: 5 },
      { ...through!, flow: "GET /", requestsPerSecond: 35, calls: [], services: ["frontend"] },
    ];
    const given = { application: resizable({ objectives }), ...(state && { state }) };
    const next = decide(inputs({ ...set, flows }, given));
    ({ state } = next);
    return next.plan.wishes.map(({ allocation, service }) => ({ allocation, service }));
  });
}

/** What an error budget is worth after an hour with misses and an hour without. */
function budgeted(errorBudget: object): unknown {
  const application = base({ errorBudget });
  const settings = PolicySettings.parse({});
  const objective = flowObjective(application.objective);
  const [flow] = chained([FRONTEND, made("backend")], START_MS).flows;
  let budgets: readonly BudgetMemory[] = [];
  for (let startMs = START_MS; startMs < START_MS + 7_200_000; startMs += 15_000) {
    const overObjectiveRatio = startMs < START_MS + 3_600_000 ? 0.03 : 0;
    const route = { calls: 100, flow: { ...flow!, errorRatio: 0, overObjectiveRatio }, objective };
    const window = { application, settings, startMs, endMs: startMs + 15_000, missing: undefined };
    budgets = budgetsNow(budgetsAfter(budgets, { ...window, routes: [route] }), [], budgetRules(window));
  }
  return budgets[0]?.worth;
}

type Pair = readonly [before: () => unknown, after: () => unknown];
const ofGuard = (before: Application, after: Application, at = NOON_MS): Pair => [
  () => decided(before, at),
  () => decided(after, at),
];
const ofPlan = (before: object, after: object, choice?: PolicyInputs["choice"]): Pair => [
  () => planned(before, choice),
  () => planned(after, choice),
];

/** By the path of a field two configurations that differ in it, as they are decided by. */
const FIELDS: Readonly<Record<string, Pair>> = {
  name: ofGuard(
    search({ maxReplicas: 30 }),
    Application.parse({ ...search({ maxReplicas: 30 }), name: "bank" }),
  ),
  namespace: ofGuard(
    search({ maxReplicas: 30 }),
    Application.parse({ ...search({ maxReplicas: 30 }), namespace: "bank" }),
  ),
  entry: ofPlan({}, { entry: "search" }),
  "objective.percentile": ofPlan(
    {},
    { objective: { milliseconds: 120, windowSeconds: 15, percentile: 0.5 } },
  ),
  "objective.milliseconds": ofPlan({}, { objective: { milliseconds: 40, windowSeconds: 15 } }),
  "objective.windowSeconds": ofPlan({}, { objective: { milliseconds: 120, windowSeconds: 600 } }, "queue"),
  entries: ofPlan({ entry: "search" }, { entry: "search", entries: ["frontend"] }),
  "objectives.route": ofPlan(
    { objectives: [{ route: "GET /*", milliseconds: 40 }] },
    { objectives: [{ route: "POST /*", milliseconds: 40 }] },
  ),
  "objectives.percentile": ofPlan(
    { objectives: [{ route: "GET /", milliseconds: 120 }] },
    { objectives: [{ route: "GET /", milliseconds: 120, percentile: 0.5 }] },
  ),
  "objectives.milliseconds": ofPlan({}, { objectives: [{ route: "GET /", milliseconds: 40 }] }),
  "objectives.weight": [() => weighed(1), () => weighed(100)],
  "objectives.exclude": ofPlan({}, { objectives: [{ route: "GET /", exclude: true }] }),
  "objectives.stream": ofPlan({}, { objectives: [{ route: "GET /", stream: true }] }),
  "errorBudget.use": [() => budgeted({}), () => budgeted({ use: 0.2 })],
  "errorBudget.period": [() => budgeted({}), () => budgeted({ period: "1h" })],
  "services.name": ofGuard(
    search({ maxReplicas: 30 }),
    base({ services: [{ name: "rate", maxReplicas: 30 }] }),
  ),
  "services.workload.apiVersion": [() => foreign({}), () => foreign({ apiVersion: "games.example.com/v1" })],
  "services.workload.kind": [
    () => named({ kind: "Deployment", name: "search-v2" }),
    () => named({ kind: "StatefulSet", name: "search-v2" }),
  ],
  "services.workload.name": [
    () => named({ kind: "Deployment", name: "search-v2" }),
    () => named({ kind: "Deployment", name: "search-v3" }),
  ],
  "services.priority": ofGuard(search({ priority: 1 }), search({ priority: -1 })),
  "services.optional": [
    () => browned(search({ optional: false })),
    () => browned(search({ optional: true })),
  ],
  "services.minReplicas": ofGuard(base(), search({ minReplicas: 50 })),
  "services.maxReplicas": ofGuard(base(), search({ maxReplicas: 30 })),
  "services.cpu.minCores": ofGuard(base(), search({ cpu: { minCores: 1 } })),
  "services.cpu.maxCores": ofGuard(base(), search({ cpu: { maxCores: 0.3 } })),
  "services.cpu.stepCores": ofGuard(base(), search({ cpu: { stepCores: 0.5 } })),
  "services.memory.minBytes": ofGuard(base(), search({ memory: { minBytes: 1e9 } })),
  "services.memory.maxBytes": ofGuard(base(), search({ memory: { maxBytes: 200e6 } })),
  "services.memory.stepBytes": ofGuard(base(), search({ memory: { stepBytes: 500e6 } })),
  "budget.pods": ofPlan({}, { budget: { pods: 6 } }),
  mode: ofGuard(base(), base({ mode: "recommend" })),
  resize: ofPlan({}, { resize: "limits" }),
  priority: ofGuard(base({ priority: 1 }), base({ priority: -1 })),
  "approval.replicasRatio": ofGuard(base({ approval: {} }), base({ approval: { replicasRatio: 1 } })),
  "approval.containerRatio": ofGuard(base({ approval: {} }), base({ approval: { containerRatio: 0.05 } })),
  "approval.expiresMinutes": ofGuard(base({ approval: {} }), base({ approval: { expiresMinutes: 60 } })),
  "calendars.name": ofGuard(withCalendar({}), withCalendar({ name: "other" })),
  "calendars.services": ofGuard(withCalendar({}), withCalendar({ services: ["rate"] })),
  "calendars.from": ofGuard(withCalendar({}), withCalendar({ from: "0 13 * * *" })),
  "calendars.until": ofGuard(withCalendar({}), withCalendar({ until: "0 11 * * *" })),
  "calendars.timeZone": ofGuard(withCalendar({}), withCalendar({ timeZone: "Asia/Tokyo" })),
  "calendars.except": ofGuard(withCalendar({}), withCalendar({ except: ["2026-07-06"] })),
  "calendars.floor.replicas": ofGuard(withCalendar({}), withCalendar({ floor: { replicas: 70 } })),
  "calendars.floor.timesUsual": ofGuard(withCalendar({}), withCalendar({ floor: { timesUsual: 1.5 } })),
  "calendars.ceiling.replicas": ofGuard(ceiling({}), ceiling({ replicas: 22 })),
  "calendars.ceiling.soft": ofGuard(ceiling({}), ceiling({ soft: true })),
  "prices.currency": [() => reported({}), () => reported({ currency: "CHF" })],
  "prices.cpuCoreHour": [() => sized({}), () => sized({ cpuCoreHour: 0.001 })],
  "prices.nodeClasses": [() => placed({}), () => placed({ nodeClasses: { old: 3 } })],
  "services.hpa.cpuPercent": [() => formerly({}), () => formerly({ cpuPercent: 30 })],
  "services.hpa.minReplicas": [() => formerly({}), () => formerly({ minReplicas: 5 })],
  "services.hpa.maxReplicas": [() => formerly({}), () => formerly({ maxReplicas: 6 })],
  ...ofRules("scaleUp"),
  ...ofRules("scaleDown"),
  reasoner: [async () => asked(base({})), async () => asked(base({ reasoner: "act" }))],
  "prices.memoryGigabyteHour": [() => sized({}), () => sized({ memoryGigabyteHour: 10 })],
};

/** What a report says of a window. */
function reported(prices: object): unknown {
  const period = new Period(base({ prices }));
  const [flow] = chained([FRONTEND, made("backend")], START_MS).flows;
  period.addFlow({ ...flow!, startMs: START_MS, endMs: START_MS + 15_000 });
  return period.report();
}

/** Replicas that the HPA before would have had while load came for 15 minutes and went for 15. */
function formerly(hpa: NonNullable<Given["services"]>[number]["hpa"]): readonly number[] {
  const { services } = base({ services: [{ name: "search", minReplicas: 1, maxReplicas: 40, hpa }] });
  const made = [];
  let state = startingWith(4);
  for (let minute = 0; minute < 30; minute += 1) {
    const use = { requestedCores: 1, usedCores: minute < 15 ? 12 : 1.6 };
    const time = { startMs: NOON_MS + 60_000 * minute, endMs: NOON_MS + 60_000 * (minute + 1) };
    state = overWindow(state, shadowHpa(services[0]!), use, time, 0).after;
    made.push(state.replicas);
  }
  return made;
}

type Rules = NonNullable<Parameters<typeof formerly>[0]>["behavior"];

/** What a rule of the HPA before changes in one of its directions. */
function ofRules(direction: keyof NonNullable<Rules>): Record<string, Pair> {
  const policy = { type: "Percent", value: 50, periodSeconds: 60 } as const;
  const ruled = (rules: object) => () => formerly({ behavior: { [direction]: rules } });
  const paced = (change: object): Pair => [
    ruled({ policies: [policy] }),
    ruled({ policies: [{ ...policy, ...change }] }),
  ];
  const path = `services.hpa.behavior.${direction}`;
  return {
    [`${path}.stabilizationWindowSeconds`]: [ruled({}), ruled({ stabilizationWindowSeconds: 600 })],
    [`${path}.selectPolicy`]: [ruled({}), ruled({ selectPolicy: "Disabled" })],
    [`${path}.policies.type`]: paced({ type: "Pods" }),
    [`${path}.policies.value`]: paced({ value: 10 }),
    [`${path}.policies.periodSeconds`]: paced({ periodSeconds: 600 }),
    [`${path}.tolerance`]: [ruled({}), ruled({ tolerance: 50 })],
  };
}

/** What becomes of one more replica that a language model asks for. */
async function asked(application: Application): Promise<unknown> {
  const queue = new ChangeQueue(
    [],
    async () => true,
    () => application,
  );
  const expected = { by: "model", tailBeforeSeconds: 0.3, tailAfterSeconds: 0.15 };
  const change = { id: "0123456789", service: "frontend", resource: "replicas" as const, from: 10, to: 11 };
  const askedChanges = [{ ...change, asked: expected, isOfModel: true }];
  await queue.takeAsked({ application: "hotel", namespace: "shop", plannedAtMs: NOON_MS, askedChanges });
  return queue.list();
}

/** Which objects of a cluster a workload of another kind may be. */
const foreign = (more: { apiVersion?: string }): unknown =>
  namedWorkloads([
    base({ services: [{ name: "lobby", workload: { kind: "GameSet", name: "lobby", ...more } }] }),
  ]);

/** What a service would gain on nodes twice as fast. */
function placed(prices: object): unknown {
  const where = {
    nodeClass: "new",
    log: Math.log(0.5),
    own: queueing(0.015, 0.01),
    roomCores: 8,
    leastReplicas: 1,
    mix: new Map([["old", 3]]),
  };
  const cost = chain([service("only", { base: size(3), elsewhere: [where] })]);
  return placementsOf(cost, base({ prices }).prices);
}

function named(workload: { kind: string; name: string }): unknown {
  const nameOf = allConfiguredNames([base({ services: [{ name: "search", workload }] })]);
  return ["Deployment", "StatefulSet"].map((kind) => nameOf({ kind, name: "search-v2", namespace: "shop" }));
}

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
}

function* leaves({ items, properties }: JsonSchema, path: string): Generator<string> {
  if (items !== undefined) yield* leaves(items, path);
  else if (properties === undefined) yield path;
  else
    for (const [name, part] of Object.entries(properties))
      yield* leaves(part, path === "" ? name : `${path}.${name}`);
}

describe("a field of the configuration of an application", () => {
  it("has a decision that changes with it, each of them", () => {
    const schema = z.toJSONSchema(Application, { io: "input" }) as JsonSchema;
    expect(Object.keys(FIELDS).toSorted()).toEqual([...leaves(schema, "")].toSorted());
  });

  it.each(Object.entries(FIELDS))("%s changes a decision", async (_path, [before, after]) => {
    expect(await after()).not.toEqual(await before());
    expect(await before()).toEqual(await before());
  });
});
