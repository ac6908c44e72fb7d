/** Upper edges: 50 µs to 2.5 s. Answers come from memory, so most fall in the first. */
export const CALL_BUCKETS_SECONDS = [
  5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.1, 0.5, 2.5,
] as const;

/** Finished calls of one RPC that ended with one status. */
export interface CallSeries {
  readonly rpc: string;
  /** Name of the gRPC status. */
  readonly code: string;
  /** Calls in each of {@link CALL_BUCKETS_SECONDS} and not in the one before; the last counts those above all. */
  readonly counts: Float64Array;
  readonly sumSeconds: number;
}

/** Statuses of GetMetricSpec, which must never fail, that are counted from 0 on. */
const FROM_THE_START: ReadonlySet<string> = new Set([
  "OK",
  "UNKNOWN",
  "DEADLINE_EXCEEDED",
  "RESOURCE_EXHAUSTED",
  "INTERNAL",
  "UNAVAILABLE",
]);

interface Tally {
  readonly counts: Float64Array;
  sumSeconds: number;
}

/** Counts and times finished calls, at the cost of an increment for each. */
export class CallCounts {
  readonly #codeNames: Readonly<Record<number, string>>;
  readonly #byRpc = new Map<string, (Tally | undefined)[]>();

  /** @param codeNames names of the gRPC statuses by number */
  constructor(codeNames: Readonly<Record<number, string>>) {
    this.#codeNames = codeNames;
    // A series that begins with its first failures does not rise, to Prometheus: they would be missing from its rate.
    for (const [code, name] of Object.entries(codeNames))
      if (FROM_THE_START.has(name)) this.#tally("GetMetricSpec", Number(code));
  }

  finished(rpc: string, code: number, seconds: number): void {
    const tally = this.#tally(rpc, code);
    tally.sumSeconds += seconds;
    const bucket = bucketOf(seconds);
    tally.counts[bucket] = (tally.counts[bucket] ?? 0) + 1;
  }

  #tally(rpc: string, code: number): Tally {
    let byCode = this.#byRpc.get(rpc);
    if (byCode === undefined) this.#byRpc.set(rpc, (byCode = []));
    return (byCode[code] ??= {
      counts: new Float64Array(CALL_BUCKETS_SECONDS.length + 1),
      sumSeconds: 0,
    });
  }

  series(): CallSeries[] {
    return [...this.#byRpc].flatMap(([rpc, byCode]) =>
      byCode.flatMap((tally, code) =>
        tally === undefined ? [] : { rpc, code: this.#codeNames[code] ?? "UNKNOWN", ...tally },
      ),
    );
  }
}

function bucketOf(seconds: number): number {
  let bucket = 0;
  for (const edge of CALL_BUCKETS_SECONDS) {
    if (seconds <= edge) return bucket;
    bucket += 1;
  }
  return bucket;
}
