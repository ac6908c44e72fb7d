import { describe, expect, it } from "vitest";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import { configure } from "@tradewind/exporter/commands/why.ts";
import { runningExporter } from "../running-exporter.ts";
import { EXPECTED, planOf, wishOf } from "../wish.ts";
import { printedBy } from "./printed.ts";

const printed = async (...args: readonly string[]): Promise<string> => printedBy(configure, args);

const measured = (latencySeconds: number): Reason => ({
  code: "measured",
  percentile: 0.95,
  latencySeconds,
  objectiveSeconds: 0.2,
  requestsPerSecond: 31,
  overRatio: 0.12,
  windowSeconds: 15,
});

/** 3 → 5 replicas in a miss, and four windows after it. */
async function grown() {
  const nowMs = Date.now() - 120_000;
  const at = (index: number, latencySeconds: number) => {
    const plannedAtMs = nowMs + 15_000 * index;
    const reasons = [measured(latencySeconds), EXPECTED];
    const plan = planOf([wishOf({ reasons })], { sequence: index + 1, plannedAtMs });
    for (const wish of plan.wishes) wish.inputs.windowEndMs = plannedAtMs;
    return plan;
  };
  const exporter = await runningExporter(at(0, 0.603));
  for (const [index, latencySeconds] of [0.5, 0.3, 0.19].entries()) {
    exporter.predictor.serve(at(index + 1, latencySeconds));
    await exporter.listWhen(
      `window ${index + 1}`,
      ({ predictor }) => predictor.lastPlanAtMs === nowMs + 15_000 * (index + 1),
    );
  }
  return { exporter, decidedAtMs: nowMs };
}

describe("tradewind why", () => {
  it("says what was measured, done, expected with and without it, and what came of it", async () => {
    const { exporter } = await grown();
    const text = await printed("search", "--scaler", exporter.http);
    for (const part of [
      "replicas 3 → 5",
      "p95 is 603 ms, objective 200 ms (301 %), 12.0 % of 31 requests/s over it or failed: 3 → 5 replicas",
      "p95 then 185 ms (120-260 ms), without it 610 ms (480-790 ms)",
      "+0.012/h",
      "3 windows later p95 is 190 ms, objective 200 ms (95 %)",
    ])
      expect(text).toContain(part);
  });

  it("finds the change nearest to a time, and gives its numbers as JSON", async () => {
    const { decidedAtMs, exporter } = await grown();
    const iso = new Date(decidedAtMs + 20_000).toISOString();
    const answer = JSON.parse(
      await printed("search", "--at", iso, "--scaler", exporter.http, "--json"),
    ) as unknown;
    expect(answer).toMatchObject({
      decisions: [
        {
          decision: {
            atMs: decidedAtMs,
            reason: {
              code: "grow-missed",
              facts: { latencySeconds: 0.603, withoutSeconds: 0.61, toReplicas: 5 },
            },
          },
          outcome: { outcome: { code: "outcome-met", facts: { latencySeconds: 0.19, windows: 3 } } },
        },
      ],
    });
  });

  it("says that nothing changed near a time, before the change that is nearest to it", async () => {
    const { decidedAtMs, exporter } = await grown();
    const asked = async (atMs: number): Promise<string> =>
      printed("search", "--at", new Date(atMs).toISOString(), "--scaler", exporter.http);
    expect(await asked(decidedAtMs - 3_600_000)).toMatch(
      /^Nothing changed within 15 min of \S+ \S+; the nearest change:\n\n.* search of /,
    );
    expect(await asked(decidedAtMs - 600_000)).not.toContain("Nothing changed");
  });

  it("names the services where one is not known", async () => {
    const { exporter } = await grown();
    await expect(printed("serch", "--scaler", exporter.http)).rejects.toThrow(
      "nothing is known of 'serch'; services: search",
    );
  });
});
