import { seededRng, uniform } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { cpu, shop } from "../applications/course-shop.ts";
import { generated } from "../applications/generated.ts";
import { hotelReservation } from "../applications/hotel-reservation.ts";
import { onlineBoutique } from "../applications/online-boutique.ts";
import { sockShop } from "../applications/sock-shop.ts";
import type { ApplicationModel, ServiceModel, StepModel, WarmUpModel } from "../model/application-model.ts";
import { demandPerRequest, replicasFor } from "../model/demand.ts";
import { bimodal, fixed, lognormal, meanOf } from "../model/distribution.ts";
import type { Distribution } from "../model/distribution.ts";
import { replay, steady, surgeOf } from "../model/load.ts";
import type { Incident, Load } from "../model/plant-model.ts";
import { drawPlan, oneOf, spread } from "./prior.ts";
import type { TrainingService } from "./container.ts";
import { obstacle } from "../course/obstacle.ts";
import type { ObstacleInput, ObstacleModel } from "../course/obstacle.ts";
import { obstacleOf } from "../course/plant.ts";

const SECONDS = 1_200;
/** Something happens from here on, after the warm-up. */
const CHANGE_SECONDS = 420;

/** Most CPU that the application takes at its base load, cores, and most pods of a service there. */
const MOST_CORES = 12;
const MOST_PODS = 8;
/** Utilisation that a run begins with, and of the plenty that the objective is measured with. */
const START_UTILISATION = 0.6;
const PLENTY_UTILISATION = 0.25;
const MEASURED_SECONDS = 30;
/** Most CPU and most other time that a request takes in one service: ten of them answer within seconds. */
const MOST_DEMAND_SECONDS = 0.03;
const MOST_WAIT_SECONDS = 0.1;

const SHAPES: readonly ((rng: Rng) => ApplicationModel)[] = [
  () => shop(),
  () => hotelReservation(),
  () => sockShop(),
  () => onlineBoutique(),
  (rng) => generated({ services: 6 + Math.floor(6 * rng()), seed: Math.floor(1e6 * rng()) }),
];

/**
 * A plant that nobody chose: calls of an application that there is, with services drawn as the latency network's training draws them, under
 * a load and on a cluster drawn too. The objective is a multiple of what plenty of pods reach.
 */
export function drawnPlant(number: number): ObstacleModel {
  const rng = seededRng(number);
  const shape = oneOf(rng, SHAPES)(rng);
  const wanted = spread(rng, 5, 80);
  const worked = { ...shape, services: shape.services.map((each) => withProgram(each, rng)) };
  const cores = [...demandPerRequest(worked).values()].reduce((sum, each) => sum + each.coreSeconds, 0);
  const base = Math.min(wanted, MOST_CORES / cores);
  const application = sized(worked, base, rng);
  const load = rng() < 0.7 ? surgeOf(rng, base, CHANGE_SECONDS) : unevenLoad(rng, base);
  const startSeconds = oneOf(rng, [10, 30, 55, 55, 120]);
  const incident = rng() < 0.4 ? incidentOf(application, rng) : undefined;
  const input: ObstacleInput = {
    name: drawnName(number),
    about: `Services, load and cluster as a draw has them, number ${number}.`,
    load,
    seconds: SECONDS,
    application: withReplicas(application, load(0), START_UTILISATION),
    cluster: { podStartMs: { kind: "uniform", low: 800 * startSeconds, high: 1_200 * startSeconds } },
    telemetry: { sampledRatio: oneOf(rng, [0.05, 0.25, 1]) },
    ...(incident && { incidents: [incident] }),
    minReplicas: rng() < 0.2 ? 2 : 1,
    family: "drawn",
  };
  const objectiveMs = Math.max(20, reachedMs(input, base, number) * spread(rng, 1.3, 4));
  return obstacle({ ...input, objectiveMs: Number(objectiveMs.toPrecision(2)) });
}

const PREFIX = "drawn-";
export const drawnName = (number: number): string => `${PREFIX}${number}`;

/** The plant of a {@link drawnName}; undefined for any other name. */
export function drawnNamed(name: string): ObstacleModel | undefined {
  const number = Number(name.slice(PREFIX.length));
  const isDrawn = Number.isSafeInteger(number) && number >= 0 && name === drawnName(number);
  return isDrawn ? drawnPlant(number) : undefined;
}

/** p95 that plenty of pods reach at a steady load, ms. */
function reachedMs(input: ObstacleInput, base: number, seed: number): number {
  const { application = shop(), incidents: _, ...others } = input;
  const plenty = withReplicas(application, base, PLENTY_UTILISATION);
  const measured = obstacle({
    ...others,
    application: plenty,
    load: steady(base),
    seconds: MEASURED_SECONDS,
  });
  const { plant } = obstacleOf(measured);
  const world = plant.create(seed);
  world.advanceTo(plant.startMs + 1e3 * MEASURED_SECONDS);
  const [first, ...rest] = world.account().routes.map(({ latency }) => latency);
  if (first === undefined) throw new RangeError("an application without a route");
  return 1e3 * rest.reduce((all, each) => all.with(each), first).quantileSeconds(0.95);
}

function withReplicas(
  application: ApplicationModel,
  perSecond: number,
  utilisation: number,
): ApplicationModel {
  const replicas = replicasFor(application, perSecond, utilisation);
  return {
    ...application,
    services: application.services.map((each) => ({ ...each, replicas: replicas[each.name] ?? 1 })),
  };
}

/** The service with the calls that it makes and a drawn program in place of its own. */
function withProgram(each: ServiceModel, rng: Rng): ServiceModel {
  const { service: drawn, warmUp } = drawPlan(rng);
  const service = {
    ...drawn,
    demandSeconds: Math.min(MOST_DEMAND_SECONDS, drawn.demandSeconds),
    waitSeconds: Math.min(MOST_WAIT_SECONDS, drawn.waitSeconds),
  };
  const times = Object.values(each.operations).map(cpuMsOf);
  const factor = (1e3 * service.demandSeconds * times.length) / times.reduce((sum, time) => sum + time, 0);
  const { housekeepingCores, waitSeconds } = service;
  const outside = `behind-${each.name}`;
  const operations = Object.fromEntries(
    Object.entries(each.operations).map(([name, steps]): [string, StepModel[]] => [
      name,
      [
        ...steps.map((step) =>
          step.kind === "cpu" ? { ...step, time: timeOf(factor * meanOf(step.time), service) } : step,
        ),
        ...(waitSeconds > 0 ? [waitOf(service, outside)] : []),
      ],
    ]),
  );
  const warming: WarmUpModel = { factor: 1 + warmUp, seconds: 60, shape: "linear" };
  const isPooled = waitSeconds > 0 && service.connections < Infinity;
  return {
    ...each,
    operations: {
      ...operations,
      ...(housekeepingCores > 0 && { housekeeping: [cpu(fixed(100 * housekeepingCores))] }),
    },
    ...(housekeepingCores > 0 && { periodic: [{ operation: "housekeeping", everySeconds: 0.1 }] }),
    threads: Math.min(service.threads, 1_000),
    blocking: service.holdsThread,
    ...(isPooled && { pools: { [outside]: service.connections } }),
    ...(warmUp > 0 && { warmUp: warming }),
  };
}

const cpuMsOf = (steps: readonly StepModel[]): number =>
  steps.reduce((sum, step) => sum + (step.kind === "cpu" ? meanOf(step.time) : 0), 0);

function timeOf(meanMs: number, { demandSpread, heavyFactor, heavyShare }: TrainingService): Distribution {
  const cv = Math.sqrt(Math.expm1(demandSpread ** 2));
  if (heavyShare === 0) return lognormal(meanMs, cv);
  const low = meanMs / (1 + heavyShare * (heavyFactor - 1));
  return bimodal(low, low * heavyFactor, heavyShare, cv);
}

function waitOf({ connections, waitSeconds, waitSpread }: TrainingService, dependency: string): StepModel {
  const time = lognormal(1e3 * waitSeconds, Math.sqrt(Math.expm1(waitSpread ** 2)));
  return { kind: "wait", dependency, time, ...(connections < Infinity && { pool: dependency }) };
}

/** Containers of drawn sizes, each large enough that a service has {@link MOST_PODS} at the most. */
function sized(application: ApplicationModel, perSecond: number, rng: Rng): ApplicationModel {
  const demands = demandPerRequest(application);
  const services = application.services.map((each) => {
    const cores = perSecond * (demands.get(each.name)?.coreSeconds ?? 0);
    const drawn = Math.max(spread(rng, 0.08, 2), cores / START_UTILISATION / MOST_PODS);
    const cpuCores = Number(drawn.toPrecision(2));
    const isLimited = rng() > 0.1;
    const { cpuLimitCores: _, ...container } = each.container;
    return {
      ...each,
      container: { ...container, cpuRequestCores: cpuCores, ...(isLimited && { cpuLimitCores: cpuCores }) },
    };
  });
  return { ...application, services };
}

function incidentOf({ services }: ApplicationModel, rng: Rng): Incident {
  const atSeconds = CHANGE_SECONDS + Math.round(300 * rng());
  const kind = rng();
  const { name } = oneOf(rng, services);
  if (kind < 0.4) return { kind: "deploy", atSeconds, service: name, demandFactor: spread(rng, 0.6, 1.8) };
  if (kind < 0.7) return { kind: "node-loss", atSeconds, node: 0 };
  const factor = uniform(rng, 1.1, 1.8);
  const untilSeconds = atSeconds + 240;
  const felt = { cpu: factor - 1, memoryBandwidth: 0.5 };
  return { kind: "interference", atSeconds, untilSeconds, nodes: [0, 1, 2, 3, 4, 5], factor, ...felt };
}

const STEP_SECONDS = 15;

/** Steps, bursts or a saw. */
function unevenLoad(rng: Rng, base: number): Load {
  const kind = oneOf(rng, ["steps", "bursts", "saw"] as const);
  const period = Math.round(spread(rng, 8, 40));
  const size = uniform(rng, 0.3, 1.2);
  let level = 1;
  const rates = Array.from({ length: SECONDS / STEP_SECONDS }, (_, step) => {
    if (kind === "saw") return base * (0.4 + size * ((step / period) % 1));
    if (kind === "bursts") return base * (rng() < 0.15 ? 1 + size : 0.8);
    if (rng() < 1 / period) level = spread(rng, 0.4, 2.5);
    return base * level;
  });
  return replay(rates, STEP_SECONDS);
}
