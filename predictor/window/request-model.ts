import { DERIVED_KIND, SPAN_KIND } from "./span.ts";

/*
 * What a span is. The first row that fits counts.
 *
 * | the span                                                                            | is       | and so                                              |
 * | ----------------------------------------------------------------------------------- | -------- | --------------------------------------------------- |
 * | names another namespace, cluster, region or environment                              | foreign  | refused as `no-application`                         |
 * | begins a trace as a probe of the kubelet                                            | probe    | nobody's, with all that it leads to                 |
 * | SERVER of a stream: by attributes or name, or an operation that always lasts 20 s,  | stream   | no request, no latency; its calls count             |
 * | or what such a stream calls for as long                                             |          |                                                     |
 * | CONSUMER that receives, without a parent                                            | wait     | nobody's; what hangs below it begins anew           |
 * | CONSUMER that receives, below another service's span: it has the message already    | work     | as a CLIENT span without a parent                   |
 * | CONSUMER, but for those that receive                                                | request  | nobody waits for it                                 |
 * | CLIENT of a service without a workload, below a SERVER, CONSUMER or INTERNAL span    | inner    | made by the same process: its time is the           |
 * | of one that has one                                                                 |          | request's, unless somebody answers it               |
 * | INTERNAL below a CONSUMER of its own service that received, and was over before     | request  | nobody waits for it: it handles the message         |
 * | of another service than its parent                                                  | request  | its parent waits for it, unless that is a PRODUCER  |
 * | SERVER below its own service that begins after its parent's request is over         | request  | begins anew: a context that leaked                  |
 * | SERVER below a CLIENT span of its own service, in the same pod                      | transit  | of the same request, as the CLIENT span is: a proxy |
 * | SERVER below a CLIENT span of its own service                                       | request  | the service calls itself                            |
 * | SERVER below its own service, in another pod                                        | request  | its parent waits for it                             |
 * | SERVER below work of its own service                                                | request  | begins anew                                         |
 * | SERVER without a parent, or with one that did not arrive; without kind and parent   | request  | of a user where it begins a flow                    |
 * | CLIENT, INTERNAL or PRODUCER without a parent                                       | work     | its calls count; a request only in a service that   |
 * |                                                                                     |          | has never seen another one                          |
 * | CLIENT below a request, or CONSUMER that receives there                             | call     | the request waits for it                            |
 * | anything else below a request                                                       | inner    | time of the request                                 |
 *
 * A request of an entry begins a flow, wherever in a trace it stands, unless its caller is inside of the application: the
 * callers above it are no entries, the entries' own requests lead to none of them, and no workload asks for a message it handles. In other services flows begin at the
 * first span of a trace.
 */

/** What a span is in its trace. */
export const SPAN_CLASS = {
  inner: 0,
  call: 1,
  request: 2,
  anew: 3,
  unawaited: 4,
  transit: 5,
  wait: 6,
} as const;
export type SpanClass = (typeof SPAN_CLASS)[keyof typeof SPAN_CLASS];

/** How two spans' pods compare. */
export const PODS = { unknown: 0, same: 1, different: 2 } as const;

/** A pod by its number and whether it is one for certain, rather than an instance id that a pod may have several of. */
export const podCode = (pod: number, isPod: boolean): number => 2 * pod + (isPod ? 1 : 0);
export const podNumber = (code: number): number => code >> 1;

/** Compares two pods by their codes; negative ones are not known. */
export function comparedPods(a: number, b: number): number {
  if (a < 0 || b < 0) return PODS.unknown;
  if (a === b) return PODS.same;
  return (a & b & 1) === 1 ? PODS.different : PODS.unknown;
}

export const isServer = (kind: number): boolean => kind === SPAN_KIND.server || kind === DERIVED_KIND.stream;

/** Whether the span is the caller's side of a call. */
export const isCall = (kind: number): boolean => kind === SPAN_KIND.client || kind >= DERIVED_KIND.library;

/** Whether a span that begins a trace is work of its service, rather than a request that somebody made. */
export const isWork = (kind: number): boolean =>
  kind === SPAN_KIND.internal || kind === SPAN_KIND.producer || kind === DERIVED_KIND.receive || isCall(kind);

/** Stands for a service's work where its requests have the service's number: negative, and its own inverse. */
export const apart = (service: number): number => ~service;

/** Spans that a request is known by: one that is lost is a lost request. */
export const isRequestKind = (kind: number): boolean => isServer(kind) || kind === SPAN_KIND.consumer;

/** A span without a parent, or (`isLost`) with one that did not arrive. */
export function classOfTop(kind: number, isLost: boolean): SpanClass {
  if (kind === DERIVED_KIND.receive) return isLost ? SPAN_CLASS.anew : SPAN_CLASS.wait;
  if (!isLost || isRequestKind(kind)) return SPAN_CLASS.request;
  return isCall(kind) ? SPAN_CLASS.call : SPAN_CLASS.inner;
}

/** What is known of a SERVER span below one of its own service. */
export interface OwnServiceParent {
  readonly isBelowCall: boolean;
  /** One of `PODS`. */
  readonly pods: number;
  readonly isWork: boolean;
  /** The request that the parent belongs to was over when the span began. */
  readonly isOver: boolean;
}

/** A SERVER span below one of its own service. */
export function classOfOwnServer({
  isBelowCall,
  isOver,
  isWork: isBelowWork,
  pods,
}: OwnServiceParent): SpanClass {
  if (isBelowCall) return pods === PODS.same ? SPAN_CLASS.transit : SPAN_CLASS.request;
  // Of two pods the clocks may differ.
  if (pods === PODS.different) return SPAN_CLASS.request;
  if (isOver) return SPAN_CLASS.anew;
  return isBelowWork ? SPAN_CLASS.anew : SPAN_CLASS.inner;
}

/** A span below another one, but for SERVER spans below their own service. */
export function classBelow(kind: number, parentKind: number, isSameService: boolean): SpanClass {
  if (kind === DERIVED_KIND.receive) return isSameService ? SPAN_CLASS.call : SPAN_CLASS.anew;
  if (kind === SPAN_KIND.consumer) return SPAN_CLASS.unawaited;
  if (!isSameService) return parentKind === SPAN_KIND.producer ? SPAN_CLASS.unawaited : SPAN_CLASS.request;
  return isCall(kind) ? SPAN_CLASS.call : SPAN_CLASS.inner;
}

/** A CLIENT span whose caller is no CLIENT or PRODUCER span, and so in its own process, whatever service it names. */
export const mayBeOfProcess = (kind: number, parentKind: number): boolean =>
  (kind === SPAN_KIND.client || kind === DERIVED_KIND.library) &&
  parentKind !== SPAN_KIND.producer &&
  (!isCall(parentKind) || parentKind === DERIVED_KIND.library);

/** A span of the same service without a kind of its own, below one that received a message and was over before it began. */
export const isHandling = (kind: number, parentKind: number): boolean =>
  parentKind === DERIVED_KIND.receive && (kind === SPAN_KIND.internal || kind === SPAN_KIND.unspecified);

/** An operation that always lasts as long is a stream. */
const LONG_SECONDS = 20;
/** Requests that miss a generous objective by far are no streams. */
const LONG_OBJECTIVES = 10;

/** Time from which on an operation that never answered sooner is a stream, seconds; none is where there is no objective. */
export function streamSeconds(objectiveSeconds: number | undefined): number {
  if (objectiveSeconds === undefined) return Infinity;
  return Math.max(LONG_SECONDS, LONG_OBJECTIVES * objectiveSeconds);
}
