import { describe, expect, it } from "vitest";
import { HarmWatch } from "@tradewind/exporter/decide/rollback/watch.ts";
import type { ServiceSight, Sight, Spending } from "@tradewind/exporter/decide/rollback/watch.ts";

interface Window extends Partial<ServiceSight> {
  readonly replicas?: number;
  readonly severity?: number | undefined;
  readonly complete?: boolean;
  readonly spending?: Spending;
  /** Of another service. */
  readonly other?: Partial<ServiceSight>;
}

const quiet: ServiceSight = {
  running: { replicas: 6 },
  requestsPerSecond: 100,
  interference: 0.05,
  youngestStartMs: 0,
};

function sightsOf(windows: readonly Window[]): Sight[] {
  return windows.map(({ complete = true, other, replicas = 6, spending, ...window }, index) => ({
    atMs: 1_000_000 + 15_000 * index,
    severity: "severity" in window ? window.severity : 0.8,
    complete,
    spending,
    services: new Map([
      ["search", { ...quiet, ...window, running: { replicas } }],
      ["rate", { ...quiet, ...other }],
    ]),
  }));
}

const blamed = (windows: readonly Window[]) => {
  const watch = new HarmWatch();
  return sightsOf(windows).map((sight) =>
    watch.see(sight).map(({ before, service }) => [service, before.replicas]),
  );
};

const MET: Window[] = [{}, {}];
const less = (severity: number | undefined, more: Window = {}): Window => ({
  replicas: 4,
  severity,
  ...more,
});

describe("a change after which the objective is missed", () => {
  it("is blamed after the second missed window, once, and with what ran before", () => {
    expect(blamed([...MET, less(1.4), less(1.5), less(1.5), less(1.5)])).toEqual([
      [],
      [],
      [],
      [["search", 6]],
      [],
      [],
    ]);
  });

  it("is not blamed for what nobody saw: windows of hours ago are no windows before it (predictor-away)", () => {
    const watch = new HarmWatch();
    const sights = sightsOf([...MET, less(1.4), less(1.5)]);
    const later = sights.map((sight, at) => ({ ...sight, atMs: sight.atMs + (at < 2 ? 0 : 6 * 3_600_000) }));
    expect(later.flatMap((sight) => watch.see(sight))).toEqual([]);
  });

  it("is not blamed while the minutes since spend no more than plans may, and is once they spend more", () => {
    const spending = (recentRatio: number): Spending => ({
      recentRatio,
      plannedRatio: 0.025,
      expectedRatio: 0.01,
    });
    const missed = (recentRatio: number): Window => less(1.4, { spending: spending(recentRatio) });
    expect(blamed([...MET, missed(0.01), missed(0.02), missed(0.024)])).toEqual([[], [], [], [], []]);
    expect(blamed([...MET, missed(0.01), missed(0.02), missed(0.026)]).at(-1)).toEqual([["search", 6]]);
  });

  it("is not blamed for the share over the objective that the plan which made it expected", () => {
    const met = { spending: { recentRatio: 0, plannedRatio: 0.025, expectedRatio: 0.2 } };
    const missed = (recentRatio: number): Window =>
      less(1.4, { spending: { ...met.spending, recentRatio, expectedRatio: 0.02 } });
    expect(blamed([met, met, missed(0.1), missed(0.19)]).flat()).toEqual([]);
    expect(blamed([met, met, missed(0.1), missed(0.21)]).at(-1)).toEqual([["search", 6]]);
  });

  it("is rolled back to what ran before its first step where it came in several", () => {
    const steps = [...MET, less(0.9, { replicas: 5 }), less(0.9), less(1.4), less(1.5)];
    expect(blamed(steps)).toEqual([[], [], [], [], [], [["search", 6]]]);
  });

  it("is blamed when the miss comes up to four windows later, and not after that", () => {
    expect(blamed([...MET, less(0.9), less(0.9), less(0.9), less(1.3), less(1.3)]).at(-1)).toEqual([
      ["search", 6],
    ]);
    const late = [
      ...MET,
      less(0.9),
      less(0.9),
      less(0.9),
      less(0.9),
      less(0.9),
      less(0.9),
      less(1.3),
      less(1.3),
    ];
    expect(blamed(late).flat()).toEqual([]);
  });

  it.each<[string, Window[]]>([
    ["one window only", [...MET, less(1.4), less(0.9), less(1.4), less(0.9)]],
    ["the objective was missed before it", [{}, { severity: 1.1 }, less(1.4), less(1.4)]],
    [
      "the latency is hardly worse than before",
      [{ severity: 0.99 }, { severity: 0.98 }, less(1.02), less(1.03)],
    ],
    [
      "the load rose by more than 15 %",
      [...MET, less(1.4, { requestsPerSecond: 120 }), less(1.4, { requestsPerSecond: 120 })],
    ],
    [
      "the load of all services rose",
      [
        ...MET,
        less(1.4, { other: { requestsPerSecond: 150 } }),
        less(1.4, { other: { requestsPerSecond: 150 } }),
      ],
    ],
    [
      "a neighbour of any service became noisy",
      [...MET, less(1.4, { other: { interference: 0.4 } }), less(1.4, { other: { interference: 0.4 } })],
    ],
    [
      "another service was deployed",
      [...MET, less(1.4), less(1.4, { other: { youngestStartMs: 1_020_000 } })],
    ],
    ["data is missing", [...MET, less(1.4, { complete: false }), less(1.4), less(1.4)]],
    ["latency is not known", [...MET, less(undefined), less(1.4), less(undefined)]],
    ["nothing was taken away", [...MET, { severity: 1.4 }, { severity: 1.4 }]],
    ["more runs than before", [...MET, { replicas: 8, severity: 1.4 }, { replicas: 8, severity: 1.4 }]],
  ])("is not blamed where %s", (_why, windows) => {
    expect(blamed(windows).flat()).toEqual([]);
  });

  it("is blamed although another service was grown meanwhile, whose new replicas are no deploy", () => {
    const grown = { other: { running: { replicas: 9 }, youngestStartMs: 1_020_000 } };
    expect(blamed([...MET, less(1.4, grown), less(1.4, grown)]).at(-1)).toEqual([["search", 6]]);
  });
});
