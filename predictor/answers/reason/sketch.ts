import { contentHash } from "@tradewind/core/values/hash.ts";
import type { Incident } from "./incident.ts";
import type { Judged } from "./shares.ts";
import type { Reading } from "./signals.ts";

export const SKETCH_SCHEMA = "tradewind.dev/sketch/v1";

/** The state of an application in one window, each value against its own past: all that may be cited. */
export interface Sketch {
  readonly schema: typeof SKETCH_SCHEMA;
  readonly application: string;
  readonly endMs: number;
  readonly objective: {
    readonly percentile: number;
    readonly seconds: number;
    readonly tailSeconds?: number;
    /** Share of failed requests where more failed than may be late. */
    readonly failedRatio?: number;
  };
  /** A service's number is its place here, from 1. */
  readonly services: readonly {
    readonly id: number;
    readonly name: string;
    readonly signals: readonly Reading[];
  }[];
  readonly calls: readonly { readonly from: number; readonly to: number; readonly perRequest?: number }[];
}

type SketchHead = Pick<Sketch, "application" | "endMs" | "objective">;

/** @param judged as the ranking has them; services are numbered by name, so that the order of sources has no influence */
export function sketchOf(
  head: SketchHead,
  { calls }: Pick<Incident, "calls">,
  judged: readonly Judged[],
): Sketch {
  const sorted = [...judged].sort((a, b) => (a.name < b.name ? -1 : 1));
  const idOf = new Map(sorted.map(({ name }, at) => [name, at + 1]));
  return {
    schema: SKETCH_SCHEMA,
    ...head,
    services: sorted.map(({ name, readings }, at) => ({ id: at + 1, name, signals: [...readings.values()] })),
    calls: calls.flatMap(({ callee, caller, perRequest }) => {
      const [from, to] = [idOf.get(caller), idOf.get(callee)];
      if (from === undefined || to === undefined) return [];
      return [perRequest === undefined ? { from, to } : { from, to, perRequest }];
    }),
  };
}

export const sketchHash = (sketch: Sketch): string => contentHash(sketch);
