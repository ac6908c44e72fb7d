import { endPredictor } from "@tradewind/local/end-predictor.ts";
import { LatencyHistogram } from "@tradewind/core/measure/latency-histogram.ts";
import { LocalOptions } from "@tradewind/local/options.ts";
import type { LocalInput } from "@tradewind/local/options.ts";
import { createOutage } from "@tradewind/local/outage.ts";
import { describe, expect, it } from "vitest";

/** Seconds at which the predictor is ended, of those that are ticked. */
function ends(input: LocalInput): { readonly at: number[]; readonly said: string[] } {
  const outage = createOutage({ rpcLatency: new LatencyHistogram(), rpcErrors: 0 });
  const at: number[] = [];
  const said: string[] = [];
  let now = 0;
  const follow = endPredictor(LocalOptions.parse(input), {
    processes: { end: () => at.push(now) },
    outage,
    say: (text) => said.push(text),
  });
  for (now = 0; now <= 120; now += 1) follow(now);
  return { at, said };
}

describe("the end of the predictor", () => {
  it("comes once, at its time", () => {
    expect(ends({ killPredictor: "63s" }).at).toEqual([63]);
    expect(ends({ killPredictor: "63s", silence: "hold" }).said[0]).toContain("holds its last decision");
  });

  it("comes half a minute into a run by students alone", () => {
    expect(ends({ policy: "students" })).toMatchObject({ at: [30] });
    expect(ends({ policy: "students" }).said[0]).toContain("decides by its students");
  });

  it("does not come where nobody asks for it", () => {
    expect(ends({})).toEqual({ at: [], said: [] });
  });
});
