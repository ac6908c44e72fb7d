import { EXPLANATION_SCHEMA } from "@tradewind/core/contract/explanation.ts";
import type {
  CheckedCounterfactual,
  ClearedService,
  EvidenceReading,
  Explanation,
  NamedCause,
} from "@tradewind/core/contract/explanation.ts";
import type { Pattern } from "@tradewind/core/contract/pattern.ts";
import type { WhatIf } from "../../decide/cost/price/what-if.ts";
import { counterfactuals } from "./counterfactuals.ts";
import type { KeptIncident } from "./incident-log.ts";
import { nearest, signsOf } from "./precedents.ts";
import { renderTranscript } from "./grammar.ts";
import type { Transcript } from "./grammar.ts";
import type { Incident } from "./incident.ts";
import { rank } from "./rank.ts";
import type { Ranking, Suspect } from "./rank.ts";
import type { Judged } from "./shares.ts";
import { signalSpec } from "./signals.ts";
import type { Reading } from "./signals.ts";
import { FAR_RATIO, LEAST_PAST } from "./signal-history.ts";
import { sketchHash, sketchOf } from "./sketch.ts";
import type { Sketch } from "./sketch.ts";
import { rootsOf } from "./verdict.ts";
import { counterfactual, millis, reading, summary } from "./words.ts";
import type { LastMiss } from "./words.ts";

/** The window that is to be explained. */
export interface Explained {
  readonly application: string;
  readonly namespace: string;
  readonly atMs: number;
  readonly onsetMs: number;
  readonly pastWindows: number;
  readonly objective: { readonly percentile: number; readonly seconds: number };
  readonly measuredLatencySeconds: number | undefined;
  /** Share of failed requests where more failed than may be late. */
  /** Absent where none ended lately. */
  readonly lastMiss?: LastMiss | undefined;
  readonly failedRatio: number | undefined;
  /** What the window shows by name, failures first. */
  readonly patterns: readonly Pattern[];
  /** Of explanations that somebody judged, those whose first cause was right. */
  readonly accuracy: Explanation["accuracy"];
  readonly incidents: readonly KeptIncident[];
  readonly incident: Incident;
  /** The live models; undefined where none decided on this window, and why not. */
  readonly models: Pick<WhatIf, "resized" | "sized" | "sizeOf" | "ownTime" | "tailSeconds"> | undefined;
  readonly whyNoModels: string;
  /** Names without a workload, each in a sentence. */
  readonly unmapped: readonly string[];
}

const MOST_CLEARED = 20;
const MOST_FAULTS = 5;
const MOST_UNMAPPED = 5;
const MOST_CHARACTERS = 500;

/** An explanation, and the state of the application that every value in it is cited from. */
export interface Reasoned {
  readonly explanation: Explanation;
  readonly sketch: Sketch;
}

/** Explains a window without a language model. Pure: equal windows give equal explanations. */
export function explain(explained: Explained): Reasoned {
  const { application, atMs, failedRatio, incident, measuredLatencySeconds, models, namespace, objective } =
    explained;
  const ranking = rank(incident);
  const isMissed = incident.isMissed === true;
  const roots = isMissed || ranking.alarm === "resource" ? rootsOf(ranking) : [];
  const tail = measuredLatencySeconds === undefined ? {} : { tailSeconds: measuredLatencySeconds };
  const failed = failedRatio === undefined ? {} : { failedRatio };
  const sketch = sketchOf(
    { application, endMs: atMs, objective: { ...objective, ...tail, ...failed } },
    incident,
    ranking.judged,
  );
  const tried =
    models === undefined || !isSlow(explained)
      ? []
      : counterfactuals(models, ranking.suspects, ranking.judged, objective.seconds);
  const causes = roots.map((each) => causeOf(each));
  const facts = {
    objective,
    ...(measuredLatencySeconds !== undefined && { measuredLatencySeconds }),
    ...failed,
    isMissed,
    causes,
    counterfactuals: tried,
    patterns: [...explained.patterns],
  };
  const told = summary(facts, explained.lastMiss);
  const explanation: Explanation = {
    schema: EXPLANATION_SCHEMA,
    application,
    namespace,
    atMs,
    onsetMs: explained.onsetMs,
    ...facts,
    harm: ranking.harm,
    pastWindows: explained.pastWindows,
    sketchHash: sketchHash(sketch),
    summary: told,
    notCauses: isMissed ? cleared(ranking, roots, tried) : [],
    ...(isMissed && { precedents: nearest(explained.incidents, signsOf(sketch), explained.onsetMs) }),
    missing: missingOf(explained),
    ...(explained.accuracy && { accuracy: explained.accuracy }),
    transcript: renderTranscript(transcriptOf(told, sketch, ranking, roots, tried)),
  };
  return { explanation, sketch };
}

function causeOf({ confidence, evidence, service, share, type }: Suspect): NamedCause {
  return { service, type, confidence, share, evidence: evidence.map((each) => cited(each)) };
}

const cited = ({ baseline, bin, signal, value }: Reading): EvidenceReading => ({
  signal,
  value,
  ...(baseline !== undefined && { baseline }),
  bin,
  words: signalSpec(signal).words,
});

/** Why the others are none, those first that are on the way of most requests. */
function cleared(
  { judged, suspects }: Ranking,
  roots: readonly Suspect[],
  tried: readonly CheckedCounterfactual[],
): ClearedService[] {
  const named = new Set(roots.map(({ service }) => service));
  const rateOf = ({ readings }: Judged): number => readings.get("requestRate")?.value ?? 0;
  return judged
    .filter(({ name }) => !named.has(name))
    .sort((a, b) => rateOf(b) - rateOf(a) || (a.name < b.name ? -1 : 1))
    .slice(0, MOST_CLEARED)
    .map((one) => clearedBy(one, suspects, tried));
}

function clearedBy(
  { name: service, readings }: Judged,
  suspects: readonly Suspect[],
  tried: readonly CheckedCounterfactual[],
): ClearedService {
  const refuted = tried.find(
    (each) => each.service === service && each.resource === "own-time" && each.outcome === "same",
  );
  if (refuted !== undefined) return { service, code: "refuted", why: `even ${counterfactual(refuted)}` };
  const share = suspects.find((each) => each.service === service)?.share ?? 0;
  const own = readings.get("selfTimeP95") ?? readings.get("responseP95");
  const value = own === undefined ? "its time is not measured" : reading(own);
  return share > 0
    ? {
        service,
        code: "little",
        why: `${(100 * share).toFixed(0)} % of what was added begins with it: ${value}`,
      }
    : { service, code: "as-before", why: value };
}

/** The miss is one of latency, not of failed requests alone. */
const isSlow = ({ incident, measuredLatencySeconds = 0, objective }: Explained): boolean =>
  incident.isMissed === true && measuredLatencySeconds > objective.seconds;

/** Models that do not see the miss say little of what would end it. */
function disagreement(explained: Explained): string[] {
  const { incident, measuredLatencySeconds, models, objective } = explained;
  if (models === undefined || incident.isMissed !== true || measuredLatencySeconds === undefined) return [];
  if (!isSlow(explained))
    return ["the models know nothing of failed requests: none was asked what would end them"];
  const { tailSeconds } = models;
  const [expected, measured] = [millis(tailSeconds), millis(measuredLatencySeconds)];
  if (tailSeconds >= FAR_RATIO * measuredLatencySeconds)
    return [`the models expect ${expected} where ${measured} was measured: rely on no change that they name`];
  if (tailSeconds > objective.seconds) return [];
  return [`the models expect ${expected} where ${measured} was measured: they do not see this miss`];
}

function missingOf(explained: Explained): string[] {
  const { incident, models, pastWindows, whyNoModels } = explained;
  const unmeasured = incident.candidates.filter(
    ({ series }) => !series.some(({ signal }) => signal === "selfTimeP95" || signal === "responseP95"),
  );
  const names = unmeasured.slice(0, 5).map(({ name }) => `'${name}'`);
  return [
    ...(pastWindows < LEAST_PAST
      ? [`${pastWindows} windows met the objective before, ${LEAST_PAST} are needed for usual values`]
      : []),
    ...(models === undefined ? [`no counterfactual was run: ${whyNoModels}`.slice(0, 300)] : []),
    ...disagreement(explained),
    ...(names.length > 0
      ? [`no latency of ${names.join(", ")}${unmeasured.length > 5 ? " and others" : ""}`]
      : []),
    ...explained.unmapped.slice(0, MOST_UNMAPPED).map((each) => each.slice(0, MOST_CHARACTERS)),
  ];
}

function transcriptOf(
  think: string,
  { services }: Sketch,
  { suspects }: Ranking,
  roots: readonly Suspect[],
  tried: readonly CheckedCounterfactual[],
): Transcript {
  const idOf = new Map(services.map(({ id, name }) => [name, id]));
  const id = (service: string): number => idOf.get(service) ?? 0;
  return {
    think,
    faults: suspects.slice(0, MOST_FAULTS).map(({ confidence, evidence, service, type }) => ({
      id: id(service),
      type,
      evidence: evidence.map(({ signal, value }) => ({ signal, value })),
      confidence,
    })),
    counterfactuals: tried.map((each) => ({
      id: id(each.service),
      resource: each.resource,
      from: each.from,
      to: each.to,
      expected: each.outcome,
      tailSeconds: each.tailAfterSeconds,
      why: counterfactual(each).slice(0, 300),
    })),
    roots: roots.map(({ service, type }) => ({ id: id(service), type })),
  };
}
