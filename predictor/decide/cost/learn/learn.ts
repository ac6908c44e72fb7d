import { logsOf, speedsAfter } from "../../../nodes/class-speeds.ts";
import { measuredLoad } from "./cost-window.ts";
import type { CostWindow } from "./cost-window.ts";
import { budgetsAfter } from "./error-budget.ts";
import { routesAfter } from "./learn-routes.ts";
import { servicesAfter } from "./learn-services.ts";
import { HOLD_MS, observeLoad } from "./outlook.ts";
import { mostStartSeconds, startSecondsAfter, withoutRises } from "./starts.ts";
import { emptyMemory } from "./state.ts";
import type { CostMemory } from "./state.ts";

/** What models have learnt after one more window. @param before undefined before the first */
export function learn(before: CostMemory | undefined, window: CostWindow): CostMemory {
  const { endMs, observations, settings, startMs } = window;
  const memory = continued(before ?? emptyMemory(settings.cost.startSeconds), startMs);
  const classSpeeds = classSpeedsAfter(memory, window);
  const services = servicesAfter(memory, window, logsOf(classSpeeds));
  const timing = { endMs, mostSeconds: mostStartSeconds(settings.cost) };
  const load = measuredLoad(window);
  const horizon = { windowMs: endMs - startMs, horizonMs: 1e3 * memory.startSeconds, holdMs: HOLD_MS };
  return {
    windowEndMs: endMs,
    startSeconds: startSecondsAfter(memory, services, timing, observations),
    outlook: load === undefined ? memory.outlook : observeLoad(memory.outlook, load, horizon),
    budgets: budgetsAfter(memory.budgets, window),
    routes: routesAfter(memory, window),
    services,
    ...(classSpeeds && { classSpeeds }),
  };
}

/** Starts of replicas are not timed across windows that are missing. */
const continued = (memory: CostMemory, startMs: number): CostMemory =>
  memory.windowEndMs !== undefined && startMs <= memory.windowEndMs
    ? memory
    : { ...memory, services: withoutRises(memory.services) };

const classSpeedsAfter = (
  { classSpeeds }: CostMemory,
  { settings: { cost }, windows }: CostWindow,
): CostMemory["classSpeeds"] =>
  cost.nodeSpeeds ? speedsAfter(classSpeeds, windows, 1e3 * cost.youngSeconds) : undefined;
