import { readWith } from "@tradewind/core/values/config.ts";
import { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { Snapshot } from "@tradewind/core/contract/snapshot.ts";
import { WindowSet } from "@tradewind/core/contract/window.ts";
import type { z } from "zod";
import { createCounterTally, sumOfMetric } from "./exposition.ts";

/** HTTP addresses of the three processes; absent ones are not asked. */
export interface ObservedAddresses {
  readonly agent: string;
  readonly predictor: string;
  readonly exporter: string;
}

/** What the three processes said last; a part that did not answer keeps its last value. */
export interface Observation {
  readonly windows?: WindowSet;
  readonly recommendations?: RecommendationList;
  readonly snapshot?: Snapshot;
  /** Spans accepted since the run started, across restarts of the processes. */
  readonly spans: number;
  /** Windows of one service each. */
  readonly windowsFormed: number;
  /** Distinct decisions seen. */
  readonly decisions: number;
  readonly agentSamples: number;
}

/** Asks the processes what they know, for the screen and the report. */
export interface Observer {
  /** Asks everything once. Never throws: who does not answer is asked again the next time. */
  refresh(): Promise<Observation>;
  readonly last: Observation;
}

const TIMEOUT_MILLIS = 1_000;
const SPANS = { metric: "tradewind_predictor_spans_total", label: 'result="accepted"' } as const;

async function getText(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MILLIS) });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return response.text();
}

async function getJson<Schema extends z.ZodType>(url: string, schema: Schema): Promise<z.output<Schema>> {
  return readWith(schema, JSON.parse(await getText(url)), url);
}

export function createObserver(addresses: ObservedAddresses): Observer {
  const spans = createCounterTally();
  let windowsFormed = 0;
  const agentSamples = createCounterTally();
  const decisionIds = new Set<string>();
  let last: Observation = { spans: 0, windowsFormed: 0, decisions: 0, agentSamples: 0 };
  const orNothing = async <T>(answer: Promise<T>): Promise<T | undefined> => answer.catch(() => undefined);

  return {
    get last() {
      return last;
    },
    async refresh() {
      const [windows, recommendations, snapshot, metrics] = await Promise.all([
        orNothing(getJson(`${addresses.predictor}/v1/windows`, WindowSet)),
        orNothing(getJson(`${addresses.exporter}/v1/recommendations`, RecommendationList)),
        orNothing(getJson(`${addresses.agent}/v1/snapshot`, Snapshot)),
        orNothing(getText(`${addresses.predictor}/metrics`)),
      ]);
      if (metrics !== undefined) spans.observe(sumOfMetric(metrics, SPANS.metric, SPANS.label) ?? 0);
      if (windows !== undefined && windows.endMs !== last.windows?.endMs)
        windowsFormed += windows.windows.length;
      if (snapshot !== undefined) agentSamples.observe(snapshot.agent.samplesTotal);
      for (const { decisionId } of recommendations?.recommendations ?? []) decisionIds.add(decisionId);
      last = {
        ...last,
        ...(windows !== undefined && { windows }),
        ...(recommendations !== undefined && { recommendations }),
        ...(snapshot !== undefined && { snapshot }),
        spans: spans.total,
        windowsFormed,
        agentSamples: agentSamples.total,
        decisions: decisionIds.size,
      };
      return last;
    },
  };
}
