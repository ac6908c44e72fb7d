import type { Window } from "@tradewind/core/contract/window.ts";

/** A name in spans that requests lead to and that no workload has. */
export interface UnmappedName {
  readonly service: string;
  /** The workload's service that it may be another name of; absent where nothing suggests one. */
  readonly proposed?: string;
}

/**
 * Names without a workload that services with one call, or through which users enter, by name: nothing can be scaled for their time.
 * None where nothing says what runs.
 */
export function unmappedNames(
  windows: readonly Window[],
  entries: readonly string[] = [],
): readonly UnmappedName[] {
  const running = windows.filter(hasWorkload);
  const names = new Set(running.map(({ service }) => service));
  const callers = new Map<string, string[]>();
  for (const { requestsPerSecond = 0, service } of running.length === 0 ? [] : windows)
    if (entries.includes(service) && !names.has(service) && requestsPerSecond > 0) callers.set(service, []);
  for (const { callees, service } of running) {
    for (const { callee } of callees) {
      if (!names.has(callee)) callers.set(callee, [...(callers.get(callee) ?? []), service]);
    }
  }
  return [...callers]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([service, by]) => proposal(service, by, running));
}

/** What is wrong with such a name, and what to write into the application. */
export function mappingOf({ proposed, service }: UnmappedName): { message: string; remedy: string } {
  return {
    message: `requests lead to '${service}', which no workload is called: nothing can be scaled for its time`,
    remedy: `map it to the workload whose process it is: services: [{ name: ${service}, workload: { kind: Deployment, name: ${proposed ?? "WORKLOAD"} } }]`,
  };
}

/** The same in a sentence. */
export const mappingInWords = (name: UnmappedName): string => {
  const { message, remedy } = mappingOf(name);
  return `${message}; ${remedy}`;
};

/** A workload without requests that is called alike; else the only caller, in whose process it may run. */
function proposal(service: string, callers: readonly string[], running: readonly Window[]): UnmappedName {
  const silent = running.filter(({ requestsPerSecond }) => requestsPerSecond === undefined);
  const alike = silent.find((window) => service.includes(window.service) || window.service.includes(service));
  const [only, ...others] = callers;
  const proposed = alike?.service ?? (others.length === 0 ? only : undefined);
  return { service, ...(proposed !== undefined && { proposed }) };
}

function hasWorkload({ containers, replicasReady, replicasWanted }: Window): boolean {
  return replicasReady !== undefined || replicasWanted !== undefined || containers.length > 0;
}
