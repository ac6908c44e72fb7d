import { explain } from "@tradewind/predictor/answers/reason/explain.ts";
import type { Incident } from "@tradewind/predictor/answers/reason/incident.ts";
import { rank } from "@tradewind/predictor/answers/reason/rank.ts";
import { ModelConnection } from "@tradewind/predictor/answers/language-model/model.ts";
import { consult } from "@tradewind/predictor/run/application/consulting.ts";
import { Registry } from "prom-client";
import type { RecordedCase } from "./case.ts";
import type { Rival } from "./rivals.ts";

/** A language model behind any OpenAI-compatible server. */
export interface ReasonerOptions {
  readonly url: string;
  readonly model: string;
  readonly keyFile?: string | undefined;
  readonly timeoutSeconds: number;
}

/** What a model said of all incidents. */
export interface Consulted {
  readonly methods: Readonly<Record<"model" | "both", Rival>>;
  readonly figures: {
    readonly model: string;
    readonly asked: number;
    readonly answered: number;
    /** Answers of which a cause was kept. */
    readonly kept: number;
  };
}

export const builtIn: Rival = (incident) => rank(incident).suspects.map(({ service }) => service);

/** Values of a recording have no objective: what is asked is why it is as it is. */
const OBJECTIVE = { percentile: 0.95, seconds: 1 } as const;

function reasonedOf(incident: Incident): ReturnType<typeof explain> {
  return explain({
    application: "recorded",
    namespace: "recorded",
    atMs: 0,
    onsetMs: 0,
    pastWindows: incident.leastPast,
    objective: OBJECTIVE,
    measuredLatencySeconds: undefined,
    failedRatio: undefined,
    patterns: [],
    accuracy: undefined,
    incidents: [],
    incident: { ...incident, isMissed: true },
    models: undefined,
    whyNoModels: "a recording has none",
    unmapped: [],
  });
}

/**
 * Asks a model about each incident, as the predictor asks: `model` ranks the causes of it that are kept, `both` those and then the built-in
 * ones.
 */
export async function consulted(
  cases: readonly Pick<RecordedCase, "id" | "incident">[],
  options: ReasonerOptions,
  progress: (text: string) => void,
): Promise<Consulted> {
  const connection = new ModelConnection(
    { ...options, requestsPerDay: 2 * cases.length },
    { registry: new Registry(), monotonicMs: () => performance.now() },
  );
  const causes = new Map<Incident, string[]>();
  try {
    for (const [at, { id, incident }] of cases.entries()) {
      progress(`rca: ${options.model} is asked about ${id} (${at + 1} of ${cases.length})`);
      const said = await consult(connection, reasonedOf(incident), undefined);
      if (said !== undefined)
        causes.set(
          incident,
          said.opinion.causes.map(({ service }) => service),
        );
    }
  } finally {
    await connection.stop();
  }
  const model: Rival = (incident) => causes.get(incident) ?? [];
  const both: Rival = (incident) => [...new Set([...model(incident), ...builtIn(incident)])];
  const kept = [...causes.values()].filter(({ length }) => length > 0).length;
  return {
    methods: { model, both },
    figures: { model: options.model, asked: cases.length, answered: causes.size, kept },
  };
}
