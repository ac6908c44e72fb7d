import { serviceSpecs } from "@tradewind/core/contract/application.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Plant, Span, World } from "../world.ts";
import { Autoscaler } from "./autoscaler.ts";
import type { Schedule } from "./schedule.ts";
import type { ScaledObject } from "./triggers.ts";
import type { Advice } from "./vpa/recommender.ts";
import { allowed, RESIZE_SECONDS, update, UPDATER_SECONDS } from "./vpa/updater.ts";
import type { UpdateMode } from "./vpa/updater.ts";

/** What acts on the application besides its own Deployments. */
export interface ControlPathOptions {
  readonly world: World;
  readonly plant: Plant;
  readonly schedule: Schedule;
  /** Its phases differ from service to service, and are the same for all contenders of a seed. */
  readonly seed: number;
  /** Undefined for a service that no autoscaler acts on. */
  readonly scaledObjectOf: (service: string) => ScaledObject | undefined;
  /** Content of the service's VPA; absent where sizes stay as they are. */
  readonly adviceOf?: ((service: string, nowMs: number) => Advice | undefined) | undefined;
  /** Default in place. */
  readonly updateMode?: UpdateMode | undefined;
}

export const within = (spans: readonly Span[], startMs: number, nowMs: number): boolean => {
  const atSeconds = (nowMs - startMs) / 1e3;
  return spans.some(({ endSeconds, startSeconds }) => atSeconds >= startSeconds && atSeconds < endSeconds);
};

/**
 * Puts KEDA's polling, the HPA's syncs and the VPA's updater of every service on the schedule, between the numbers of a
 * contender and the application.
 */
export function startControlPath(options: ControlPathOptions): void {
  const { plant, schedule, scaledObjectOf, seed, world } = options;
  const { faults, hpa, startMs } = plant;
  const rng = seededRng(seed);
  const isScalerDown = (nowMs: number): boolean => within(faults.scalerDown, startMs, nowMs);
  for (const service of world.services) {
    // Drawn for every service, so that one without an autoscaler does not move the others.
    const [pollPhase, syncPhase, updatePhase] = [rng(), rng(), rng()];
    const object = scaledObjectOf(service);
    if (object !== undefined) {
      const autoscaler = new Autoscaler(world, service, object, { startMs, isScalerDown });
      const pollMs = object.pollingIntervalSeconds * 1e3;
      const syncMs = hpa.syncSeconds * 1e3;
      schedule.every(pollMs, startMs + Math.ceil(pollPhase * pollMs), (nowMs) => autoscaler.poll(nowMs));
      schedule.every(syncMs, startMs + Math.ceil(syncPhase * syncMs), (nowMs) => autoscaler.sync(nowMs));
    }
    if (options.adviceOf !== undefined) startUpdater(options, service, updatePhase);
  }
}

function startUpdater(options: ControlPathOptions, service: string, phase: number): void {
  const { adviceOf, plant, schedule, updateMode = "in-place", world } = options;
  const spec = serviceSpecs(plant.application)(service);
  const periodMs = UPDATER_SECONDS * 1e3;
  schedule.every(periodMs, plant.startMs + Math.ceil(phase * periodMs), (nowMs) => {
    const advice = adviceOf?.(service, nowMs);
    const size = advice && update(world.pods(service), allowed(advice, spec), updateMode, nowMs);
    if (size === undefined) return;
    schedule.once(nowMs + RESIZE_SECONDS * 1e3, () => world.resize(service, size, updateMode));
  });
}
