import type { Meters } from "./report/meters.ts";

/** What became of the scaler's calls while the predictor that somebody killed was away. */
export interface Outage {
  /** The predictor was killed. */
  begin(atS: number): void;
  /** The predictor is ready again. @returns a line for people; undefined when nobody had killed it */
  end(atS: number): string | undefined;
  /** The line of the picture; undefined while no predictor is away. */
  note(atS: number): string | undefined;
}

type Calls = Pick<Meters, "rpcErrors" | "rpcLatency">;

export function createOutage(meters: Calls): Outage {
  let began: { readonly atS: number; readonly calls: number; readonly errors: number } | undefined;
  const answers = (atS: number): string => {
    if (began === undefined) return "";
    const calls = meters.rpcLatency.count - began.calls;
    const errors = meters.rpcErrors - began.errors;
    return `${(atS - began.atS).toFixed(1)} s; meanwhile the scaler answered ${calls - errors} of KEDA's ${calls} calls`;
  };
  return {
    begin(atS) {
      began ??= { atS, calls: meters.rpcLatency.count, errors: meters.rpcErrors };
    },
    end(atS) {
      if (began === undefined) return undefined;
      const line = `the predictor is back after ${answers(atS)}`;
      began = undefined;
      return line;
    },
    note: (atS) => (began === undefined ? undefined : `predictor killed, away for ${answers(atS)}`),
  };
}
