import type { Window } from "@tradewind/core/contract/window.ts";
import { surroundingsOf } from "../../../models/network/surroundings.ts";
import { burstsAfter } from "../../../models/queue/cpu-bursts.ts";
import { isFiniteProfile } from "../../../models/queue/profile-state.ts";
import { track } from "../../../models/queue/track.ts";
import { emptyProfile, withDemand } from "../../../models/queue/tracked-profile.ts";
import { costOfMix, mixOf } from "../../../nodes/class-mix.ts";
import type { ClassLogs } from "../../../nodes/class-mix.ts";
import { callsAfter } from "./calls.ts";
import { namesIn } from "../../../models/route/call-graph.ts";
import type { CostWindow } from "./cost-window.ts";
import { ROUTE_SHARE } from "./learn-routes.ts";
import { modelPercentile, ownTailSeconds } from "./percentile.ts";
import type { Observation } from "../../facts/observation.ts";
import { levelsAfter } from "./learn-levels.ts";
import { readingOf } from "./service-reading.ts";
import { withoutStarted } from "./starts.ts";
import type { CostMemory, ServiceModelMemory } from "./state.ts";
import { warmUpAfter } from "./warm-up.ts";

/** What the windows say of each service after one more. */
export function servicesAfter(
  memory: Pick<CostMemory, "services">,
  costWindow: CostWindow,
  classLogs: ClassLogs,
): ServiceModelMemory[] {
  const remembered = new Map(memory.services.map((model) => [model.service, model]));
  const met = servicesOfMet(costWindow);
  const callsOf = callsAfter(costWindow, memory.services);
  return costWindow.observations.map((observation) => {
    const { service, window } = observation;
    const known = remembered.get(service) ?? { service, profile: emptyProfile(), windows: 0 };
    const calls = callsOf.get(service);
    const called = calls === undefined ? known : { ...known, calls };
    const model = withoutStarted(called, window, costWindow.endMs, costWindow.settings.cost);
    if (window === undefined || window.missing !== undefined) return model;
    return serviceAfter(model, observation, window, {
      ...costWindow,
      classLogs,
      metWindow: met.has(service) ? window : undefined,
    });
  });
}

type Surrounding = Pick<CostWindow, "application" | "settings"> & {
  readonly classLogs: ClassLogs;
  /** Undefined where a route through the service missed its objective, or none passes it. */
  readonly metWindow: Window | undefined;
};

/** What is known of one service after a window. */
function serviceAfter(
  modelBefore: ServiceModelMemory,
  observation: Observation,
  window: Window,
  { application, classLogs, metWindow, settings }: Surrounding,
): ServiceModelMemory {
  const { percentile } = application.objective;
  const metTailSeconds = metTailAfter(modelBefore, metWindow, percentile);
  const model = onNodesOf(modelBefore, window, classLogs);
  const reading = readingOf(window, observation, model.revision, { application, settings });
  const { isAfterDeploy, isKilled, revision, taken, throttled } = reading;
  const tracked = taken && track(model.profile, taken);
  const profile = tracked !== undefined && isFiniteProfile(tracked) ? tracked : model.profile;
  const levels = taken
    ? levelsAfter(model, { observation: taken, surroundings: surroundingsOf(window) }, profile, {
        hasNetwork: settings.cost.network,
        percentile: modelPercentile(percentile),
      })
    : { ...(model.network && { network: model.network }), ...(model.level && { level: model.level }) };
  const warmUpFactor = warmUpAfter(model.warmUpFactor, window, 1e3 * settings.cost.youngSeconds);
  const bursts = burstsAfter(isAfterDeploy ? undefined : model.bursts, throttled);
  const killedMs = isKilled ? window.endMs : model.killedMs;
  // A deploy is one to the first window of it that is taken in.
  const learnt = taken ? revision : model.revision;
  return {
    service: model.service,
    profile,
    ...levels,
    windows: model.windows + 1,
    ...(model.calls && { calls: model.calls }),
    ...(learnt !== undefined && { revision: learnt }),
    ...(warmUpFactor !== undefined && { warmUpFactor }),
    ...(killedMs !== undefined && { killedMs }),
    ...(model.rising && { rising: model.rising }),
    ...(bursts && { bursts }),
    ...(model.grownAtLimit && { grownAtLimit: model.grownAtLimit }),
    ...(model.ownQueue && { ownQueue: model.ownQueue }),
    ...(model.onClasses && { onClasses: model.onClasses }),
    ...(metTailSeconds !== undefined && { metTailSeconds }),
  };
}

function metTailAfter(
  { metTailSeconds }: ServiceModelMemory,
  window: Window | undefined,
  percentile: number,
): number | undefined {
  const seconds = ownTailSeconds(window?.ownLatency, percentile);
  if (seconds === undefined || metTailSeconds === undefined) return seconds ?? metTailSeconds;
  return metTailSeconds + ROUTE_SHARE * (seconds - metTailSeconds);
}

/** Services on routes, none of which missed its objective. */
function servicesOfMet({ index, routes }: CostWindow): ReadonlySet<string> {
  const met = new Set(routes.flatMap(({ graph }) => namesIn(graph, index)));
  for (const { graph, severity } of routes)
    if (severity > 1) for (const service of namesIn(graph, index)) met.delete(service);
  return met;
}

/**
 * The profile on the nodes of its pods now. Where pods came or went on faster or slower nodes a request takes more or less CPU,
 * by the measured speeds. So what is learnt is the demand on the reference class.
 */
function onNodesOf(model: ServiceModelMemory, window: Window, classLogs: ClassLogs): ServiceModelMemory {
  const mix = mixOf(window);
  const { onClasses: _before, ...rest } = model;
  if (mix.size === 0) return model.onClasses === undefined ? model : rest;
  const mixBefore = new Map(Object.entries(model.onClasses ?? {}));
  const log =
    mixBefore.size === 0 ? 0 : Math.log(costOfMix(mix, classLogs) / costOfMix(mixBefore, classLogs));
  return { ...rest, profile: withDemand(model.profile, log), onClasses: Object.fromEntries(mix) };
}
