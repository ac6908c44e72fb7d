import type { CallEdge, Window, WindowSet } from "@tradewind/core/contract/window.ts";

/** What is remembered fades by this factor with each window: it stands for about a hundred of them. */
const FADING = 0.99;
/** Requests of a service that must have been seen before anything is concluded from its callers. */
const LEAST_REQUESTS = 10;
/** Share of a service's requests that the calls of known callers must make up. */
const EXPLAINED_SHARE = 0.9;
/** A caller with a smaller share of the calls does not matter. */
const LEAST_SHARE = 0.01;
/** Standard deviations by which missing calls must stand out of the calls that never have an answer. */
const BEYOND_CHANCE = 2;
/** A service that has been silent for so long is forgotten. */
const FORGET_MS = 86_400_000;
const MOST_SERVICES = 5_000;

interface Caller {
  /** Calls to the service, faded, and requests of the caller in the same windows. */
  calls: number;
  requests: number;
  /** The caller makes CLIENT spans for them: a call is seen although the callee is silent. */
  isSeen: boolean;
}

interface ServiceRecord {
  seenMs: number;
  /** Requests, and calls of known callers among them, faded. */
  requests: number;
  explained: number;
  readonly callers: Map<string, Caller>;
  /** Requests in whole windows, and calls in them that nobody answered, faded. */
  asked: number;
  unresolved: number;
}

/**
 * Tells a service that nobody called from one whose spans do not arrive. A silent service had no requests for certain where
 * all who call it were measured, and none of them made more calls without an answer than it always does; where one of them
 * is silent as well, that one must be vouched for in the same way. Only a service whose requests were explained by calls is
 * vouched for: one that users, timers or queues reach has no caller that would know. Pure: no clock, no I/O; bounded.
 */
export class SilentServices {
  private readonly known = new Map<string, ServiceRecord>();

  /** The set with rate 0 where a service is known to have had no requests, after what it tells was remembered. */
  vouch(set: WindowSet): WindowSet {
    const windows = new Map(set.windows.map((window) => [window.service, window]));
    const idle = this.idle(windows);
    this.learn(set, windows, idle);
    if (idle.size === 0) return set;
    return {
      ...set,
      windows: set.windows.map((window) =>
        idle.has(window.service) ? Object.assign({}, window, { requestsPerSecond: 0 }) : window,
      ),
    };
  }

  /** Silent services of which nobody who might know says otherwise: what one of them is not sure of takes others along. */
  private idle(windows: ReadonlyMap<string, Window>): ReadonlySet<string> {
    const idle = new Set<string>();
    const called = calledServices(windows.values());
    for (const [service, window] of windows) {
      if (isSilent(window) && !called.has(service) && this.isExplained(service)) idle.add(service);
    }
    for (let before = -1; before !== idle.size;) {
      before = idle.size;
      for (const service of idle) if (!this.isVouchedFor(service, windows, idle)) idle.delete(service);
    }
    return idle;
  }

  private isExplained(service: string): boolean {
    const known = this.known.get(service);
    if (known === undefined || known.requests < LEAST_REQUESTS) return false;
    return known.explained >= EXPLAINED_SHARE * known.requests;
  }

  private isVouchedFor(
    service: string,
    windows: ReadonlyMap<string, Window>,
    idle: ReadonlySet<string>,
  ): boolean {
    const known = this.known.get(service);
    if (known === undefined) return false;
    for (const [name, caller] of known.callers) {
      if (caller.calls < LEAST_SHARE * known.explained || idle.has(name)) continue;
      const window = windows.get(name);
      if (window === undefined || !caller.isSeen || !this.madeNoCalls(window, caller)) return false;
    }
    return true;
  }

  /** The caller was measured, and calls to the silent service would stand out of those that are never answered. */
  private madeNoCalls(window: Window, { calls, requests }: Caller): boolean {
    const { requestsPerSecond = 0, service, unresolvedCallsPerSecond } = window;
    if (window.missing !== undefined || unresolvedCallsPerSecond === undefined) return false;
    if (requestsPerSecond === 0) return false;
    const usual = this.known.get(service);
    if (usual === undefined || usual.asked === 0) return false;
    const asked = requestsIn(window);
    const unresolved = unresolvedCallsPerSecond * seconds(window);
    if (unresolved === 0) return true;
    const expected = (usual.unresolved / usual.asked) * asked;
    const halfOfCalls = ((calls / requests) * asked) / 2;
    return halfOfCalls > BEYOND_CHANCE * Math.sqrt(expected + 1) && unresolved < expected + halfOfCalls;
  }

  private learn(set: WindowSet, windows: ReadonlyMap<string, Window>, idle: ReadonlySet<string>): void {
    const calls = callsByCallee(set);
    const doubtful = this.callersOfSilent(windows, idle);
    for (const window of set.windows) {
      const { missing, requestsPerSecond = 0, service } = window;
      if (missing !== undefined || !(requestsPerSecond > 0)) continue;
      this.learnRequests(window, windows, calls.get(service) ?? []);
      if (!doubtful.has(service)) this.learnUnresolved(window);
    }
    for (const [service, { seenMs }] of this.known) {
      if (set.endMs - seenMs > FORGET_MS) this.known.delete(service);
    }
  }

  /** Callers of services that are silent for a reason nobody knows: their calls without an answer may be to those. */
  private callersOfSilent(
    windows: ReadonlyMap<string, Window>,
    idle: ReadonlySet<string>,
  ): ReadonlySet<string> {
    const callers = new Set<string>();
    for (const [service, known] of this.known) {
      const window = windows.get(service);
      if (idle.has(service) || (window !== undefined && !isSilent(window))) continue;
      for (const caller of known.callers.keys()) callers.add(caller);
    }
    return callers;
  }

  private learnRequests(
    window: Window,
    windows: ReadonlyMap<string, Window>,
    calls: readonly CallsOf[],
  ): void {
    const known = this.remembered(window);
    if (known === undefined) return;
    known.seenMs = window.endMs;
    known.requests = FADING * known.requests + requestsIn(window);
    known.explained *= FADING;
    for (const { caller, edge } of calls) {
      const count = edge.callsPerSecond * seconds(window);
      const before = known.callers.get(caller) ?? { calls: 0, requests: 0, isSeen: false };
      known.callers.set(caller, {
        ...before,
        calls: before.calls + count,
        isSeen: edge.transitSeconds !== undefined,
      });
      known.explained += count;
    }
    for (const [name, caller] of known.callers) {
      const callerWindow = windows.get(name);
      caller.calls *= FADING;
      caller.requests =
        FADING * caller.requests + (callerWindow === undefined ? 0 : requestsIn(callerWindow));
    }
  }

  private learnUnresolved(window: Window): void {
    const known = this.known.get(window.service);
    if (known === undefined || window.unresolvedCallsPerSecond === undefined) return;
    known.asked = FADING * known.asked + requestsIn(window);
    known.unresolved = FADING * known.unresolved + window.unresolvedCallsPerSecond * seconds(window);
  }

  private remembered({ endMs, service }: Window): ServiceRecord | undefined {
    const known = this.known.get(service);
    if (known !== undefined || this.known.size >= MOST_SERVICES) return known;
    const made: ServiceRecord = {
      seenMs: endMs,
      requests: 0,
      explained: 0,
      callers: new Map(),
      asked: 0,
      unresolved: 0,
    };
    this.known.set(service, made);
    return made;
  }
}

/** No source told of any request, and nothing is known to be missing: the window of a workload alone. */
function isSilent({ missing, requestsPerSecond }: Window): boolean {
  return requestsPerSecond === undefined && missing === undefined;
}

function seconds({ endMs, startMs }: Window): number {
  return (endMs - startMs) / 1e3;
}

function requestsIn(window: Window): number {
  return (window.requestsPerSecond ?? 0) * seconds(window);
}

interface CallsOf {
  readonly caller: string;
  readonly edge: CallEdge;
}

/** Who called each service, as far as the callers' windows are whole. */
function callsByCallee({ windows }: WindowSet): ReadonlyMap<string, readonly CallsOf[]> {
  const calls = new Map<string, CallsOf[]>();
  for (const { callees, missing, service: caller } of windows) {
    if (missing !== undefined) continue;
    for (const edge of callees) {
      const known = calls.get(edge.callee);
      if (known === undefined) calls.set(edge.callee, [{ caller, edge }]);
      else known.push({ caller, edge });
    }
  }
  return calls;
}

/** Services that got calls by what others measured: one of them that is silent has a wrong clock, or its requests came too late. */
const calledServices = (windows: Iterable<Window>): ReadonlySet<string> =>
  new Set(
    [...windows].flatMap(({ callees }) =>
      callees.filter(({ callsPerSecond }) => callsPerSecond > 0).map(({ callee }) => callee),
    ),
  );
