import type { RouteRules } from "@tradewind/core/contract/route-rules.ts";
import type { ArrivalDrop, DropReason } from "./drops.ts";
import type { WindowLimits } from "./limits.ts";
import type { ProbePaths, Probes } from "./probes.ts";

export interface WindowBuilderOptions extends Partial<WindowLimits> {
  /** Length of a window; windows are aligned to multiples of it since the epoch. */
  readonly windowSeconds: number;
  /** Namespace of the application: spans that name another one are refused. */
  readonly namespace: string;
  /** `k8s.cluster.name` of the application; absent: those whose spans name its pods. */
  readonly cluster?: string | undefined;
  /** `deployment.environment.name` of the application; absent: those whose spans name its pods. */
  readonly environment?: string | undefined;
  /** Services that users call; absent: flows begin where traces do. */
  readonly entries?: () => Iterable<string>;
  /** Names and uids of pods with the services of their workloads. */
  readonly pods?: () => Iterable<readonly [string, string]>;
  /** Any 32-bit number, secret from senders: keeps them from choosing ids that collide in the hash tables. */
  readonly hashSeed?: number;
  /** Objectives of routes: requests over them are counted. Undefined while there are none. */
  readonly routes?: () => RouteRules | undefined;
  /** Services that are known before spans or workloads name them; asked when names run short. */
  readonly knownServices?: () => Iterable<string>;
  /** Paths of probes; absent: probes are known by their user agent alone. */
  readonly probePaths?: ProbePaths;
}

/** What a builder has done since it was made. */
export interface WindowBuilderTotals {
  readonly spansAccepted: number;
  readonly tracesEvaluated: number;
  /** Traces evaluated before their grace was over, for lack of room. */
  readonly tracesEvaluatedEarly: number;
  readonly drops: Readonly<Partial<Record<DropReason, number>>>;
  /** Spans that were refused of services that are known, by reason. */
  readonly refused: readonly RefusedSpans[];
  /** Streams that were open at once, by service: a mean of those that ended in the last window. */
  readonly streams: ReadonlyMap<string, number>;
  /** Spans that said they stand for more requests than was believed. */
  readonly weightsClamped: number;
  /** Spans taken for probes of a kubelet, by what gave them away. */
  readonly probes: Readonly<Probes["counts"]>;
  /** Held now. */
  readonly openTraces: number;
  readonly openSpans: number;
  readonly services: number;
  readonly flows: number;
}

export interface RefusedSpans {
  readonly service: string;
  readonly reason: ArrivalDrop;
  readonly count: number;
}
