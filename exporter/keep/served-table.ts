import type { ApplicationState } from "@tradewind/core/contract/application-list.ts";

/** What is served for one service: a decision, why there is none newer, or both. Plain data that crosses between threads. */
export interface ServedRow {
  readonly namespace: string;
  readonly service: string;
  readonly decided?: ServedDecision;
  /** Why the newest wish led to no decision: the guard step and its reason. */
  readonly refusal?: string;
}

export interface ServedDecision {
  readonly application: string;
  readonly replicas: number;
  /** When it was decided, on the clock for ages that all threads share; undefined when that is not known. ms */
  readonly decidedMs: number | undefined;
  /** How long after that it may be served. ms */
  readonly lifetimeMs: number;
}

/** One of several applications; KEDA is told what is wrong with it. */
export interface ServedApplication {
  readonly namespace: string;
  readonly name: string;
  readonly state: ApplicationState;
  /** Why there may be no number of it. */
  readonly problem?: string;
}

/** Whether a decision may be served now, by the monotonic clock. One of unknown age may not. */
export function mayBeServed(
  { decidedMs, lifetimeMs }: Pick<ServedDecision, "decidedMs" | "lifetimeMs">,
  monotonicMs: number,
): boolean {
  return decidedMs !== undefined && monotonicMs - decidedMs <= lifetimeMs;
}

type ByService = Map<string, ServedRow>;

/**
 * All that the scaler answers from. A new table is gathered beside the one in force and takes its place at one moment, so
 * that no two answers are of different plans.
 */
export class ServedTable {
  #inForce = new Map<string, ByService>();
  #gathered = new Map<string, ByService>();

  /** What keeps the predictor silent, if it is. */
  predictorProblem: string | undefined;
  /** By namespace; undefined where there is one application only. */
  #applications: ReadonlyMap<string, readonly ServedApplication[]> | undefined;

  gather(rows: readonly ServedRow[]): void {
    for (const row of rows) {
      let ofNamespace = this.#gathered.get(row.namespace);
      if (ofNamespace === undefined) this.#gathered.set(row.namespace, (ofNamespace = new Map()));
      ofNamespace.set(row.service, row);
    }
  }

  /** Puts what was gathered in force; what was before is gone. */
  putInForce(): void {
    this.#inForce = this.#gathered;
    this.#gathered = new Map();
  }

  setApplications(applications: readonly ServedApplication[] | undefined): void {
    this.#applications = applications && Map.groupBy(applications, ({ namespace }) => namespace);
  }

  /** The applications of a namespace; undefined where there is one application only, whatever its namespace. */
  applicationsIn(namespace: string): readonly ServedApplication[] | undefined {
    return this.#applications && (this.#applications.get(namespace) ?? []);
  }

  find(namespace: string, service: string): ServedRow | undefined {
    return this.#inForce.get(namespace)?.get(service);
  }
}
