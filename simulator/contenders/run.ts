import { costPerHour } from "@tradewind/core/contract/prices.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { startControlPath } from "../control/control-path.ts";
import { Schedule } from "../control/schedule.ts";
import type { PlantModel } from "../model/plant-model.ts";
import type { Account, Plant, Span, World } from "../world.ts";
import { graceSeconds } from "./contender.ts";
import type { Actuators, Brain, Contender, Parameters } from "./contender.ts";

/** A plant and what is special about its control path. */
export interface Obstacle {
  readonly plant: Plant;
  /** What the plant was made from. */
  readonly truth: PlantModel;
  /** Scale-down stabilization window that every HPA is forced to, s. */
  readonly forcedScaleDownSeconds?: number;
  /** The contender's own process is down. */
  readonly processDown?: readonly Span[];
  /** Routes that are no user's: left out of what is counted. */
  readonly internalRoutes?: readonly string[];
}

export interface RunOptions {
  readonly obstacle: Obstacle;
  readonly contender: Contender;
  readonly parameters?: Parameters;
  readonly actuators: Actuators;
  readonly seed: number;
  /** Called after every window, for tests and pictures. */
  readonly onWindow?: (world: World, brain: Brain) => void;
  /** Called at the end with the accounts that the result is the difference of. */
  readonly onEnd?: (from: Account, to: Account) => void;
}

/** What one contender did on one plant with one seed, warm-up left out. All of it is simulated. */
export interface RunResult {
  /** Share of requests over the objective of their route, failed ones included. */
  readonly requestsOver: number;
  /** The same with the warm-up: from the first request on. */
  readonly requestsOverFromStart: number;
  /** Share of minutes in which a route missed its objective. */
  readonly minutesOver: number;
  /** Price of what all containers request, per hour, at the application's prices. */
  readonly costPerHour: number;
  /** Means of what all containers request. */
  readonly cores: number;
  readonly gigabytes: number;
  /** Pods started and taken down, and requests that failed. */
  readonly starts: number;
  readonly stops: number;
  readonly failed: number;
  readonly oomKills: number;
  readonly requests: number;
  /** Share of windows by the level that decided them; absent where a contender has no levels. */
  readonly levels?: Readonly<Record<string, number>>;
  readonly notes?: Readonly<Record<string, number>>;
}

/** Keeps the seeds of the control path and of the contender apart from the plant's own. */
const CONTROL_SEED = 0x51ed270b;
const BRAIN_SEED = 0x2545f491;

const derived = (seed: number, salt: number): number => Math.trunc(seededRng(seed ^ salt)() * 2 ** 31);

function sums(
  { routes }: Account,
  internal: readonly string[],
): { requests: number; over: number; failed: number } {
  const users = routes.filter(({ route }) => !internal.includes(route));
  return {
    requests: users.reduce((sum, route) => sum + route.requests, 0),
    over: users.reduce((sum, route) => sum + route.over, 0),
    failed: users.reduce((sum, route) => sum + route.failed, 0),
  };
}

/** What happened between two accounts of one run. */
export function resultOf(
  from: Account,
  to: Account,
  { internalRoutes = [], plant: { application } }: Obstacle,
): Omit<RunResult, "levels" | "notes"> {
  const hours = (to.atMs - from.atMs) / 3_600_000;
  const [before, after] = [sums(from, internalRoutes), sums(to, internalRoutes)];
  const requests = after.requests - before.requests;
  const shareOf = (over: number, of: number): number => (of === 0 ? 0 : over / of);
  const coreHours = (to.coreSeconds - from.coreSeconds) / 3_600;
  const byteHours = (to.byteSeconds - from.byteSeconds) / 3_600;
  const used = { cpuCores: coreHours, memoryBytes: byteHours };
  return {
    requestsOver: shareOf(after.over - before.over, requests),
    requestsOverFromStart: shareOf(after.over, after.requests),
    minutesOver: (to.minutesOver - from.minutesOver) / Math.max(1, to.minutes - from.minutes),
    costPerHour: costPerHour(used, application.prices) / hours,
    cores: coreHours / hours,
    gigabytes: byteHours / 1e9 / hours,
    starts: to.starts - from.starts,
    stops: to.stops - from.stops,
    failed: after.failed - before.failed,
    oomKills: to.oomKills - from.oomKills,
    requests,
  };
}

/**
 * One run in virtual time. Equal options give equal results, and the plant's arrivals and demands do not depend on the
 * contender, so runs of one seed can be compared pair by pair.
 */
export async function run({
  actuators,
  contender,
  obstacle,
  onEnd,
  onWindow,
  parameters = contender.defaults,
  seed,
}: RunOptions): Promise<RunResult> {
  const { plant } = obstacle;
  const { seconds, startMs, warmUpSeconds, windowSeconds } = plant;
  const world = plant.create(seed);
  const schedule = new Schedule();
  const brain = contender.start(
    {
      plant,
      actuators,
      seed: derived(seed, BRAIN_SEED),
      world,
      truth: obstacle.truth,
      forcedScaleDownSeconds: obstacle.forcedScaleDownSeconds,
      processDown: obstacle.processDown ?? [],
    },
    parameters,
  );
  const levels = new Map<string, number>();
  const windowMs = windowSeconds * 1e3;
  const graceMs = graceSeconds(windowSeconds) * 1e3;
  schedule.every(windowMs, startMs + windowMs + graceMs, async (nowMs) => {
    const endMs = nowMs - graceMs;
    await brain.onWindow?.({ windowSet: world.windowSet(endMs - windowMs, endMs), nowMs });
    const level = nowMs < startMs + warmUpSeconds * 1e3 ? undefined : brain.level?.();
    if (level !== undefined) levels.set(level, (levels.get(level) ?? 0) + 1);
    onWindow?.(world, brain);
  });
  const { betweenWindows } = brain;
  if (betweenWindows !== undefined) {
    const { everyMs } = betweenWindows;
    schedule.every(everyMs, startMs + everyMs, (nowMs) => betweenWindows.run(nowMs));
  }
  startControlPath({
    world,
    plant,
    schedule,
    seed: derived(seed, CONTROL_SEED),
    scaledObjectOf: (service) => brain.scaledObject(service),
    updateMode: brain.updateMode,
    adviceOf:
      actuators === "replicas" || brain.advice === undefined
        ? undefined
        : (service, nowMs) => brain.advice?.(service, nowMs),
  });
  const advance = async (untilMs: number): Promise<Account> => {
    while (schedule.nextMs <= untilMs) {
      world.advanceTo(schedule.nextMs);
      await schedule.runNext();
    }
    world.advanceTo(untilMs);
    return world.account();
  };
  const from = await advance(startMs + warmUpSeconds * 1e3);
  const to = await advance(startMs + seconds * 1e3);
  onEnd?.(from, to);
  const notes = brain.notes?.();
  return { ...resultOf(from, to, obstacle), ...sharesOf(levels), ...(notes && { notes }) };
}

function sharesOf(levels: ReadonlyMap<string, number>): Pick<RunResult, "levels"> {
  const total = [...levels.values()].reduce((sum, count) => sum + count, 0);
  if (total === 0) return {};
  return {
    levels: Object.fromEntries([...levels].map(([level, count]) => [level, count / total])),
  };
}
