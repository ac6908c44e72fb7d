import { Explanation } from "@tradewind/core/contract/explanation.ts";
import { explain } from "@tradewind/predictor/answers/reason/explain.ts";
import type { Explained } from "@tradewind/predictor/answers/reason/explain.ts";
import { parseTranscript } from "@tradewind/predictor/answers/reason/grammar.ts";
import { concerning, explanationInWords } from "@tradewind/predictor/commands/ask/in-words.ts";
import type { Candidate } from "@tradewind/predictor/answers/reason/incident.ts";
import type { Series, SignalName } from "@tradewind/predictor/answers/reason/signals.ts";
import { WhatIf } from "@tradewind/predictor/decide/cost/price/what-if.ts";
import { describe, expect, it } from "vitest";
import { chain, queueing, service } from "../../decide/priced.ts";

function series(signal: SignalName, usual: number, now = usual): Series {
  return { signal, normal: Array.from({ length: 60 }, () => usual), now: [now] };
}

const CANDIDATES: readonly Candidate[] = [
  {
    name: "web",
    series: [series("requestRate", 20), series("selfTimeP95", 0.01), series("responseP95", 0.08, 0.26)],
  },
  {
    name: "only",
    series: [
      series("requestRate", 20),
      series("selfTimeP95", 0.05, 0.25),
      series("throttledRatio", 0.01, 0.6),
    ],
  },
];

/** One route through `only`, whose model has a tail of 75 ms at its two containers. */
const models = (): WhatIf => new WhatIf(() => chain([service("only", { own: queueing(0.03, 0.02) })]));

function explained(extra: Partial<Explained> = {}, isMissed = true): Explained {
  return {
    application: "shop",
    namespace: "default",
    atMs: 600_000,
    onsetMs: 585_000,
    pastWindows: 60,
    objective: { percentile: 0.95, seconds: 0.06 },
    measuredLatencySeconds: isMissed ? 0.26 : 0.05,
    failedRatio: undefined,
    accuracy: undefined,
    patterns: [],
    incidents: [],
    incident: {
      entry: "web",
      candidates: CANDIDATES,
      calls: [{ caller: "web", callee: "only" }],
      leastPast: 20,
      isMissed,
    },
    models: models(),
    whyNoModels: "policy 'queue' decided",
    unmapped: [],
    ...extra,
  };
}

describe("an explanation", () => {
  it("names service and resource, and cites values of the sketch with what they were before", () => {
    const made = Explanation.parse(explain(explained()).explanation);
    expect(made.causes.map(({ service, type }) => [service, type])).toEqual([["only", "C"]]);
    expect(made.causes[0]!.evidence).toContainEqual({
      signal: "throttledRatio",
      value: 0.6,
      baseline: 0.01,
      bin: "high",
      words: "share of throttled periods",
    });
  });

  it("runs each counterfactual on the models: a third container ends a miss of 60 ms, by 75 → 50 ms", () => {
    const { counterfactuals } = explain(explained()).explanation;
    const third = counterfactuals.find(({ resource, to }) => resource === "replicas" && to === 3);
    expect(third).toMatchObject({ service: "only", from: 2, outcome: "better", ends: true });
    expect(third!.tailAfterSeconds).toBeCloseTo(0.05, 9);
    const usual = counterfactuals.find(({ resource }) => resource === "own-time");
    expect(usual).toMatchObject({ from: 0.25, to: 0.05, outcome: "better", ends: true });
  });

  it("says what is not the cause, and why", () => {
    expect(explain(explained()).explanation.notCauses).toEqual([
      { service: "web", code: "as-before", why: "self-time p95 10.0 ms (before: 10.0 ms)" },
    ]);
  });

  it("names nothing while the objective is met", () => {
    const calm = explain(explained({}, false)).explanation;
    expect(calm).toMatchObject({ isMissed: false, causes: [], counterfactuals: [], notCauses: [] });
    expect(calm.summary).toContain("Nothing to explain");
  });

  it("clears a suspect whose usual time would change nothing by the models", () => {
    // Another service has a sign of a resource and little more time: 51 instead of 50 ms.
    const idle: Candidate = {
      name: "only",
      series: [series("selfTimeP95", 0.05, 0.0501), series("throttledRatio", 0.01, 0.6)],
    };
    const web = {
      name: "web",
      series: [series("responseP95", 0.08, 0.26), series("selfTimeP95", 0.01, 0.19)],
    };
    const { incident } = explained();
    const made = explain(explained({ incident: { ...incident, candidates: [web, idle] } })).explanation;
    expect(made.causes.map(({ service }) => service)).toEqual(["web"]);
    expect(made.notCauses).toMatchObject([{ service: "only", code: "refuted" }]);
  });

  it("says where the models do not see the miss", () => {
    const objective = { percentile: 0.95, seconds: 0.08 };
    const made = explain(explained({ objective })).explanation;
    expect(made.missing).toEqual([
      "the models expect 75.0 ms where 260 ms was measured: they do not see this miss",
    ]);
    const sizes = made.counterfactuals.filter(({ resource }) => resource !== "own-time");
    expect(sizes.some(({ ends }) => ends)).toBe(false);
  });

  it("says where the models expect far more than was measured", () => {
    const objective = { percentile: 0.95, seconds: 0.02 };
    const made = explain(explained({ objective, measuredLatencySeconds: 0.03 })).explanation;
    expect(made.missing).toEqual([
      "the models expect 75.0 ms where 30.0 ms was measured: rely on no change that they name",
    ]);
  });

  it("names what has no workload, with the mapping to write: its time can be the cause and nothing scales it", () => {
    const unmapped = ["requests lead to 'mysql', which no workload is called: map it"];
    expect(explain(explained({ unmapped })).explanation.missing).toContain(unmapped[0]);
  });

  it("has no counterfactual without live models, and says why", () => {
    const made = explain(explained({ models: undefined })).explanation;
    expect(made.counterfactuals).toEqual([]);
    expect(made.missing).toEqual(["no counterfactual was run: policy 'queue' decided"]);
    expect(made.causes).toHaveLength(1);
  });

  it("carries the four stages, whose roots are the causes", () => {
    const made = explain(explained()).explanation;
    const { invalid, transcript } = parseTranscript(made.transcript);
    expect(invalid).toBe(0);
    // Services are numbered by name: only 1, web 2.
    expect(transcript!.roots).toEqual([{ id: 1, type: "C" }]);
    expect(transcript!.counterfactuals).toHaveLength(made.counterfactuals.length);
  });

  it("is the same for the same window, whatever the order of the sources", () => {
    const { incident } = explained();
    const turned = { ...incident, candidates: [...CANDIDATES].toReversed() };
    expect(explain(explained({ incident: turned }))).toEqual(explain(explained()));
  });

  it("reads as text that names cause, evidence, what was run, and what is not the cause", () => {
    const text = explanationInWords(explain(explained()).explanation);
    expect(text).toContain("only (CPU;");
    expect(text).toContain("'only' with 3 instead of 2 replicas: 75.0 ms → 50.0 ms (better, objective met)");
    expect(text).toContain("web: self-time p95 10.0 ms");
    const ofWeb = concerning(explain(explained()).explanation, "web");
    expect(explanationInWords(ofWeb)).not.toContain("only (CPU;");
    expect([...ofWeb.causes, ...ofWeb.notCauses].filter(({ service }) => service !== "web")).toEqual([]);
  });
});
