import { routesAfter } from "./learn-routes.ts";
import { logsOf, speedsAfter } from "../../../nodes/class-speeds.ts";
import { servicesAfter } from "./learn-services.ts";
import { observeLoad } from "./outlook.ts";
import { mostStartSeconds, startSecondsAfter, withoutRises } from "./starts.ts";
import type { Lesson } from "./lesson.ts";
import type { CostMemory } from "./state.ts";

/** What the models know after one more window. */
export function learn(before: CostMemory, lesson: Lesson): CostMemory {
  const { arrivalsPerSecond, isComplete, observations, settings, verdict, windowSet } = lesson;
  const { endMs, startMs } = windowSet;
  const isNext = before.windowEndMs !== undefined && startMs <= before.windowEndMs;
  const memory = isNext ? before : { ...before, services: withoutRises(before.services) };
  const count = verdict.flows.reduce((sum, { calls }) => sum + calls, 0);
  const isFailing = verdict.flows.some((each) => each.isFailing);
  const point = { endMs, perSecond: arrivalsPerSecond, count, ...(isFailing && { isFailing }) };
  const isSeen = isComplete && arrivalsPerSecond > 0;
  const classSpeeds = settings.nodeSpeeds
    ? speedsAfter(memory.classSpeeds, windowSet.windows, 1e3 * settings.youngSeconds)
    : undefined;
  const services = servicesAfter(memory, lesson, logsOf(classSpeeds));
  const mostSeconds = mostStartSeconds(settings);
  return {
    windowEndMs: endMs,
    startSeconds: startSecondsAfter(memory, services, { endMs, mostSeconds }, observations),
    outlook: isSeen
      ? observeLoad(memory.outlook, point, {
          windowMs: endMs - startMs,
          horizonMs: 1e3 * memory.startSeconds,
          holdMs: 1e3 * settings.standSeconds,
        })
      : memory.outlook,
    routes: isComplete ? routesAfter(memory, lesson) : memory.routes,
    services,
    ...(classSpeeds && { classSpeeds }),
  };
}
