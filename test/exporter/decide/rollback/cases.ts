import { UNTUNED } from "@tradewind/simulator/contenders/contender.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { startOurs } from "@tradewind/simulator/contenders/ours/ours.ts";
import { run } from "@tradewind/simulator/contenders/run.ts";
import type { Obstacle } from "@tradewind/simulator/contenders/run.ts";
import { obstacle } from "@tradewind/simulator/course/obstacle.ts";
import { obstacleOf } from "@tradewind/simulator/course/plant.ts";
import { call, cpu, MEBIBYTE, service, to } from "@tradewind/simulator/applications/course-shop.ts";
import { lognormal } from "@tradewind/simulator/model/distribution.ts";
import type { Incident } from "@tradewind/simulator/model/plant-model.ts";
import type { LatencyView, World } from "@tradewind/simulator/world.ts";

/** What happens beside a change that takes replicas away. */
export const KINDS = ["harmful", "loadStep", "deploy", "interference", "nothing"] as const;
export type Kind = (typeof KINDS)[number];

const WINDOW_SECONDS = 15;
/** Past the exporter's restart grace; what else happens comes up to five windows later. */
const CHANGE_SECONDS = 165;
const EVENT_SECONDS = 75;
const SECONDS = 345;
const STATIONS = ["frontend", "search", "rate"];
/** The one whose replicas go. */
const SHRUNK = "search";
/** CPU of a request at each station, ms. Containers have one core. */
const MEAN_MS = 80;
const WORKING_SET = 120 * MEBIBYTE;

interface Scenario {
  readonly requestsPerSecond: number;
  readonly before: number;
  readonly after: number;
  readonly eventSeconds: number;
  readonly loadRatio: number;
  readonly slowerRatio: number;
  /** Whose program is deployed. */
  readonly station: string;
  /** Objective over the p95 before the change. */
  readonly slack: number;
}

/** A change as it is seen, with whether it was rolled back and how many windows after it was planned. */
export interface Outcome {
  /** The latency after all was over the objective in two windows in a row. */
  readonly missed: boolean;
  readonly firedAfterWindows: number | undefined;
  /** The p95 of the last two windows is within the objective. */
  readonly isWell: boolean;
}

/**
 * One simulated case: three stations in a row, decided by Tradewind's own predictor, guard and rollback, through KEDA and an HPA. The plans
 * name the sizes of the case in the place of the predictor's, as a predictor would that is wrong about one service.
 */
export async function runCase(kind: Kind, rng: Rng): Promise<Outcome> {
  const scenario = drawn(kind, rng);
  const seed = Math.floor(rng() * 2 ** 31);
  const objectiveMs = 1e3 * scenario.slack * calmSeconds(scenario, kind, seed);
  const plant = plantOf(scenario, kind, objectiveMs);
  const { startMs } = plant.plant;
  const seen: { atMs: number; view: LatencyView }[] = [];
  let firedAfterWindows: number | undefined;
  await run({
    obstacle: plant,
    contender: {
      name: "scripted",
      about: "",
      ...UNTUNED,
      start: (setting) =>
        startOurs(setting, {
          choice: "auto",
          rewrite: (plan, nowMs) => scripted(plan, nowMs - startMs, scenario),
          onEvent: (event) => {
            if (event.kind !== "rollback" || event.service !== SHRUNK) return;
            const afterSeconds = (event.atMs - startMs) / 1e3 - CHANGE_SECONDS;
            firedAfterWindows ??= Math.floor(afterSeconds / WINDOW_SECONDS);
          },
        }),
    },
    actuators: "replicas",
    seed,
    onWindow: (world) => seen.push({ atMs: world.nowMs - startMs, view: latencyOf(world) }),
  });
  const tails = windowTails(seen).filter(({ atMs }) => atMs > 1e3 * CHANGE_SECONDS);
  const isOver = tails.map(({ seconds }) => 1e3 * seconds > 1.15 * objectiveMs);
  return {
    missed: isOver.some((over, at) => over && isOver[at + 1] === true),
    firedAfterWindows,
    isWell: tails.slice(-2).every(({ seconds }) => 1e3 * seconds <= objectiveMs),
  };
}

/** The sizes of the case: what runs before, and less of one service after. */
function scripted(plan: Plan, atMs: number, { after, before }: Scenario): Plan {
  const replicas = (name: string): number =>
    name === SHRUNK && atMs >= 1e3 * CHANGE_SECONDS ? after : before;
  return {
    ...plan,
    wishes: plan.wishes.map((wish) => ({ ...wish, allocation: { replicas: replicas(wish.service) } })),
  };
}

function drawn(kind: Kind, rng: Rng): Scenario {
  const between = (low: number, high: number): number => low + (high - low) * rng();
  const requestsPerSecond = between(20, 50);
  const work = (requestsPerSecond * MEAN_MS) / 1e3;
  const after =
    kind === "harmful"
      ? Math.max(1, Math.floor(work / between(0.97, 1.3)))
      : Math.ceil(work / between(0.6, 0.7));
  const isSlower = kind === "deploy" || kind === "interference";
  return {
    requestsPerSecond,
    before: Math.max(Math.ceil(work / between(0.45, 0.6)), after + 1),
    after,
    eventSeconds: CHANGE_SECONDS + EVENT_SECONDS * rng(),
    loadRatio: kind === "loadStep" ? between(1.15, 2.5) : 1,
    slowerRatio: isSlower ? between(1.25, 3) : 1,
    station: STATIONS[Math.floor(STATIONS.length * rng())] ?? SHRUNK,
    slack: between(1.25, 2),
  };
}

function plantOf(scenario: Scenario, kind: Kind, objectiveMs: number): Obstacle {
  const { before, eventSeconds, loadRatio, requestsPerSecond } = scenario;
  const container = {
    cpuRequestCores: 1,
    cpuLimitCores: 1,
    memoryRequestBytes: 2 * WORKING_SET,
    memoryLimitBytes: 2 * WORKING_SET,
  };
  const services = STATIONS.map((name, at) => {
    const next = STATIONS[at + 1];
    const steps = [cpu(lognormal(MEAN_MS, 0.6)), ...(next === undefined ? [] : [call(to(next))])];
    return service(name, steps, { container, replicas: before, threads: 16, queueLimit: 1_000 });
  });
  return obstacleOf({
    ...obstacle({
      name: "rollback",
      about: "Less of one service is planned, and something else happens.",
      load: (atSeconds) => requestsPerSecond * (atSeconds >= eventSeconds ? loadRatio : 1),
      application: {
        name: "rollback",
        entry: "frontend",
        services,
        routes: [{ name: "GET /", service: "frontend", operation: "serve", share: 1 }],
        networkMs: { kind: "fixed", mean: 0.3 },
      },
      cluster: { podStartMs: { kind: "uniform", low: 10_000, high: 20_000 } },
      telemetry: { sampledRatio: 1 },
      incidents: incidentsOf(scenario, kind),
      seconds: SECONDS,
      objectiveMs,
      // What HPAs wait for before they go down comes on top of all that is measured here.
      forcedScaleDownSeconds: 0,
    }),
    warmUpSeconds: 0,
  });
}

/** Other tenants that take a share of the CPU leave the rest: what took a second takes `1 / (1 − share)`. */
function incidentsOf({ eventSeconds: atSeconds, slowerRatio, station }: Scenario, kind: Kind): Incident[] {
  if (kind === "deploy") return [{ kind, atSeconds, service: station, demandFactor: slowerRatio }];
  if (kind !== "interference") return [];
  const share = 1 - 1 / slowerRatio;
  return [
    { kind, atSeconds, untilSeconds: SECONDS, factor: slowerRatio, cpu: share, memoryBandwidth: share },
  ];
}

/** The p95 of the same run without a controller, before anything happens. */
function calmSeconds(scenario: Scenario, kind: Kind, seed: number): number {
  const { plant } = plantOf(scenario, kind, 1e6);
  const world = plant.create(seed);
  world.advanceTo(plant.startMs + 30e3);
  const early = latencyOf(world);
  world.advanceTo(plant.startMs + 1e3 * CHANGE_SECONDS);
  return latencyOf(world).since(early).quantileSeconds(0.95);
}

function latencyOf(world: World): LatencyView {
  const [route] = world.account().routes;
  if (route === undefined) throw new Error("the plant has no route");
  return route.latency;
}

function windowTails(
  seen: readonly { atMs: number; view: LatencyView }[],
): { readonly atMs: number; readonly seconds: number }[] {
  return seen.slice(1).map(({ atMs, view }, at) => {
    const before = seen[at]?.view;
    return { atMs, seconds: (before === undefined ? view : view.since(before)).quantileSeconds(0.95) };
  });
}
