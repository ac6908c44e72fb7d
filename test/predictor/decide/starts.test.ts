import { decide } from "@tradewind/predictor/decide/ladder.ts";
import type { PolicyInputs } from "@tradewind/predictor/decide/inputs.ts";
import { describe, expect, it } from "vitest";
import { inputs, START_MS, WINDOW_MS } from "../measurements.ts";
import { chained } from "./modelled.ts";
import type { ModelledService } from "./modelled.ts";
import { FRONTEND, made } from "./decisions.ts";

interface Seen {
  /** Number of the window. */
  readonly at: number;
  readonly backend: Partial<ModelledService>;
  /** No request of a user came. */
  readonly isSilent?: boolean;
}

/** How long a start takes, seconds, as it is known after each of these windows. */
function startSeconds(windows: readonly Seen[]): (number | undefined)[] {
  let state: PolicyInputs["state"] | undefined;
  return windows.map(({ at, backend, isSilent = false }) => {
    const set = chained([FRONTEND, made("backend", backend)], START_MS + at * WINDOW_MS);
    const silent = set.windows.map((window) => {
      const { ownLatency: _own, requestsPerSecond: _rate, responseLatency: _response, ...rest } = window;
      return rest;
    });
    const outcome = decide(
      inputs(isSilent ? { ...set, windows: silent, flows: [] } : set, state === undefined ? {} : { state }),
    );
    ({ state } = outcome);
    return state.cost?.startSeconds;
  });
}

const calm = { replicas: 2, requestsPerSecond: 40 };
const busy = { replicas: 2, requestsPerSecond: 90 };
const learning = [0, 1, 2, 3, 4].map((at) => ({ at, backend: calm }));

describe("how long starts take", () => {
  it("is the same after a night that began while replicas were starting", () => {
    const evening = [{ at: 5, backend: busy }];
    const night = [6, 7, 8].map((at) => ({ at, backend: { ...busy, replicas: 5 }, isSilent: true }));
    const morning = [2_000, 2_001].map((at) => ({ at, backend: { ...calm, replicas: 5 } }));
    expect(startSeconds([...learning, ...evening, ...night, ...morning]).at(-1)).toBe(75);
  });

  it("is the same where the platform follows no decision for an hour, and follows one then", () => {
    const ignored = Array.from({ length: 240 }, (_, at) => ({ at: 5 + at, backend: busy }));
    const followed = [245, 246].map((at) => ({ at, backend: { ...busy, replicas: 5 } }));
    const known = startSeconds([...learning, ...ignored, ...followed]);
    expect(new Set(known.filter((each) => each !== undefined))).toEqual(new Set([75]));
  });
});
