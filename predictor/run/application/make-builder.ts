import type { Application } from "@tradewind/core/contract/application.ts";
import { routeRules } from "@tradewind/core/contract/route-rules.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { traceOptions } from "../../sources/trace-sources.ts";
import { DEFAULT_WINDOW_LIMITS } from "../../window/limits.ts";
import { WindowBuilder } from "../../window/window-builder.ts";
import type { OwnParts, SharedParts } from "./parts.ts";

/** Spans that are asked for come a window and its grace late, and may have begun before. */
const PAST_SECONDS = 120;
/** What each of several applications may hold of that which bounds the memory of a process. */
export const SHARE_OF_SEVERAL = 1 / 8;

/** Makes the windows of one application. */
export function makeBuilder(
  { options, sections, several }: SharedParts,
  { application, current, workloads }: OwnParts,
): WindowBuilder {
  const { windowSeconds, graceSeconds, maxGraceSeconds } = options;
  const { assumedSamplingRatio, cluster, environment, maxSpanWeight } = sections.sources.otlp;
  const pulled = traceOptions(sections.sources).length > 0;
  const share = several ? SHARE_OF_SEVERAL : 1;
  return new WindowBuilder({
    windowSeconds,
    namespace: application.namespace,
    cluster,
    environment,
    entries: () => current()?.entries ?? [],
    pods: () => podsOf(workloads()),
    traceGraceSeconds: graceSeconds,
    maxGraceSeconds,
    assumedSamplingRatio,
    maxSpanWeight,
    maxOpenTraces: DEFAULT_WINDOW_LIMITS.maxOpenTraces * share,
    maxOpenSpans: DEFAULT_WINDOW_LIMITS.maxOpenSpans * share,
    ...(pulled ? { maxPastSeconds: PAST_SECONDS + windowSeconds + graceSeconds } : {}),
    hashSeed: Math.floor(Math.random() * 2 ** 32),
    routes: () => {
      const application = current();
      return application && routeRules(application);
    },
    knownServices: () => knownServices(current(), workloads()),
    probePaths: () => probePaths(workloads()),
  });
}

/** What kubelets ask for, by service. */
export function probePaths(
  list: WorkloadList | undefined,
): ReadonlyMap<string, readonly string[]> | undefined {
  if (list === undefined) return undefined;
  const paths = new Map<string, readonly string[]>();
  for (const each of list.workloads) {
    if (each.probePaths !== undefined)
      paths.set(each.service, [...(paths.get(each.service) ?? []), ...each.probePaths]);
  }
  return paths;
}

/** Names and uids of pods with their services. */
function* podsOf(list: WorkloadList | undefined): Generator<readonly [string, string]> {
  for (const { pods, service } of list?.workloads ?? []) {
    for (const { name, uid } of pods ?? []) {
      if (name !== undefined) yield [name, service];
      yield [uid, service];
    }
  }
}

/** Services that the application names or that have a workload. */
function* knownServices(
  application: Application | undefined,
  list: WorkloadList | undefined,
): Generator<string> {
  if (application !== undefined) yield* application.entries;
  for (const { name } of application?.services ?? []) yield name;
  for (const { service } of list?.workloads ?? []) yield service;
}
