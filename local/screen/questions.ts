import { readWith } from "@tradewind/core/config.ts";
import { Explanation } from "@tradewind/core/contract/explanation.ts";
import { WhatIfAnswer } from "@tradewind/core/contract/what-if.ts";
import type { WhatIfRequest } from "@tradewind/core/contract/what-if.ts";
import { describeError, TradewindError } from "@tradewind/core/errors.ts";
import { formatLatency, formatSeconds } from "@tradewind/core/terminal/format.ts";
import { z } from "zod";

/** Keys that ask the predictor. */
export const QUESTION_KEYS = ["w", "e"] as const;
type QuestionKey = (typeof QUESTION_KEYS)[number];

/** What a person asked with a key, and the predictor's answer as lines of the picture. */
export interface Questions {
  /** Asks, or hides the answer of the same key. Never throws: what went wrong is the answer. */
  toggle(key: QuestionKey, atS: number): Promise<void>;
  /** Empty while nothing is asked. */
  readonly lines: readonly string[];
}

const TIMEOUT_MILLIS = 5_000;
/** A load that is asked about beside the sizes. */
const MORE_LOAD = 1.5;
const Refusal = z.object({ error: z.object({ message: z.string() }) });

/** @param predictor its address */
export function createQuestions(predictor: string): Questions {
  let shown: QuestionKey | undefined;
  let lines: readonly string[] = [];
  const title = { w: "what if", e: "explain" } as const;
  return {
    get lines() {
      return lines;
    },
    async toggle(key, atS) {
      if (shown === key) {
        [shown, lines] = [undefined, []];
        return;
      }
      shown = key;
      lines = [`${title[key]}: asking the predictor ...`];
      const answer = await (key === "w" ? whatIfLines(predictor) : explainLines(predictor)).catch(
        (error: unknown) => [describeError(error)],
      );
      if (shown === key) lines = [`${title[key]}, asked at ${formatSeconds(atS)}:`, ...answer];
    },
  };
}

async function ask<Schema extends z.ZodType>(
  url: string,
  schema: Schema,
  body?: object,
): Promise<z.output<Schema>> {
  const signal = AbortSignal.timeout(TIMEOUT_MILLIS);
  const sent = body && { method: "POST", body: JSON.stringify(body) };
  const answer = await fetch(url, { signal, headers: { "content-type": "application/json" }, ...sent });
  const given: unknown = await answer.json();
  const refusal = Refusal.safeParse(given).data;
  if (refusal !== undefined) throw new TradewindError("no-answer", refusal.error.message);
  return readWith(schema, given, url);
}

/** What one more replica of each service would do, the most useful first, and more load. */
async function whatIfLines(predictor: string): Promise<string[]> {
  const whatIf = async (request: z.input<typeof WhatIfRequest>): Promise<WhatIfAnswer> =>
    ask(`${predictor}/v1/what-if`, WhatIfAnswer, request);
  const now = await whatIf({});
  const asked = now.services.map(async ({ now: { replicas }, service }) => ({
    what: `${service} ${replicas} → ${replicas + 1} replicas`,
    answer: await whatIf({ services: [{ service, replicas: replicas + 1 }] }),
  }));
  const more = { what: `${MORE_LOAD} times the load`, answer: await whatIf({ load: MORE_LOAD }) };
  const sized = (await Promise.all(asked)).toSorted((a, b) => tailOf(a.answer) - tailOf(b.answer));
  const rows = [more, ...sized];
  const width = Math.max(...rows.map(({ what }) => what.length));
  return [
    `  ${"now".padEnd(width)}  p95 ${formatLatency(tailOf(now))} of ${formatLatency(now.objective.seconds)}, ${now.costPerHour.now.toFixed(4)} per hour`,
    ...rows.map(
      ({ answer, what }) =>
        `  ${what.padEnd(width)}  p95 ${formatLatency(tailOf(answer))}, ${answer.costPerHour.then.toFixed(4)} per hour`,
    ),
  ];
}

/** Predicted for the slowest route, seconds. */
const tailOf = ({ routes }: WhatIfAnswer): number =>
  Math.max(0, ...routes.map(({ then }) => then.latencySeconds));

async function explainLines(predictor: string): Promise<string[]> {
  const { causes, counterfactuals, missing, notCauses, summary } = await ask(
    `${predictor}/v1/explain`,
    Explanation,
  );
  return [
    summary,
    ...causes.flatMap(({ confidence, evidence, service }) =>
      evidence
        .slice(0, 3)
        .map(
          ({ baseline, value, words }) =>
            `  ${service} (confidence ${confidence.toFixed(2)}): ${words} ${rounded(value)}${baseline === undefined ? "" : `, before ${rounded(baseline)}`}`,
        ),
    ),
    ...counterfactuals
      .filter(({ ends }) => ends)
      .map(
        ({ from, resource, service, tailAfterSeconds, to }) =>
          `  would end it: ${service} ${resource} ${rounded(from)} → ${rounded(to)}, p95 ${formatLatency(tailAfterSeconds)}`,
      ),
    ...notCauses.slice(0, 3).map(({ service, why }) => `  not ${service}: ${why}`),
    ...missing.slice(0, 2).map((each) => `  not known: ${each}`),
  ];
}

const rounded = (value: number): string => String(Number(value.toPrecision(3)));
