import type {
  ANSWER_VERDICTS,
  CheckedCounterfactual,
  ModelOpinion,
} from "@tradewind/core/contract/explanation.ts";
import type { Bounds } from "@tradewind/core/contract/plan.ts";
import type { WhatIf } from "../../decide/cost/price/what-if.ts";
import type { Size } from "../../decide/facts/size.ts";
import { checkedOf } from "./counterfactuals.ts";
import type { Counterfactual, Fault, Transcript } from "./grammar.ts";
import { readAnswer } from "./read-answer.ts";
import type { IdOf } from "./read-answer.ts";
import type { Sketch } from "./sketch.ts";

type Verdict = (typeof ANSWER_VERDICTS)[number];
type Service = Sketch["services"][number];

/** A cited value may differ by so much: 5 %, or 0.01. */
const RELATIVE = 0.05;
const ABSOLUTE = 0.01;
const LEAST_CITATIONS = 2;
/** So many false citations, and nothing of the answer counts. */
const MOST_FALSE = 1;
/** What a value was rounded by may be no more than this share of it. */
const MOST_ROUNDING = 0.1;
/** A proposal may add so many replicas, or multiply the CPU or memory of a container by so much. */
const MOST_REPLICAS = 3;
const MOST_FACTOR = 2;
/** Sizes are told to four digits. */
const ROUNDED = 1e-3;
const MOST_WORDS = 4_000;

/** What each verdict says to a model that is asked once more. */
const REFUSALS: Readonly<Record<Exclude<Verdict, "kept">, string>> = {
  format: "not of the form",
  "no-such-service": "the state has no such service",
  "no-such-signal": "it cites a signal that the state does not have of this service",
  "value-differs": "it cites another value than the state has",
  "too-little-evidence": "two different signals of the service are needed",
  "model-disagrees": "the latency models expect another outcome",
  "no-model": "no latency model knows what it does",
  unsafe: "outside of what 'may be' says of the service",
};

/** What an answer is checked against: the very state that it was asked about, and the live models. */
export interface AnswerContext {
  readonly model: string;
  readonly sketch: Sketch;
  readonly objectiveSeconds: number;
  /** Undefined where none decided on this window. */
  readonly models: Pick<WhatIf, "sized" | "sizeOf"> | undefined;
  /** First cause of the built-in reasoner. */
  readonly builtIn: string | undefined;
  /** By service; absent where none are known. */
  readonly bounds?: ReadonlyMap<string, Bounds>;
}

/** How small and how large a model may ask a service to be: replicas, and cores and bytes of each container. */
export type ChangeLimits = Readonly<
  Record<"cpu" | "memory" | "replicas", readonly [least: number, most: number]>
>;

/** Nothing smaller, one step larger, within the bounds. */
export function changeLimits({ cpuCores, memoryBytes, replicas }: Size, bounds?: Bounds): ChangeLimits {
  const { cpuMaxCores = Infinity, maxReplicas = Infinity, memoryMaxBytes = Infinity } = bounds ?? {};
  const upTo = (now: number, step: number, most: number): readonly [number, number] => [
    now,
    Math.max(now, Math.min(step, most)),
  ];
  return {
    replicas: upTo(replicas, replicas + MOST_REPLICAS, maxReplicas),
    cpu: upTo(cpuCores, MOST_FACTOR * cpuCores, cpuMaxCores),
    memory: upTo(memoryBytes, MOST_FACTOR * memoryBytes, memoryMaxBytes),
  };
}

/** An answer that was checked. */
export interface CheckedAnswer {
  readonly opinion: ModelOpinion;
  /** What was dropped and why, for who wrote it. */
  readonly refusals: readonly string[];
}

/** Checks an answer (ORACL sheet, 2.6). Never throws, whatever it holds: what is not true is dropped, with its verdict. */
export function checkAnswer(answer: string, context: AnswerContext): CheckedAnswer {
  const counts = new Map<Verdict, number>();
  const refusals: string[] = [];
  const say = (verdict: Verdict, about: string): void => {
    counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
    if (verdict !== "kept") refusals.push(`${about}: ${REFUSALS[verdict]}`);
  };
  const read = readAnswer(answer, idsOf(context.sketch));
  const opinion = (part: Pick<ModelOpinion, "words" | "causes" | "counterfactuals">): CheckedAnswer => {
    const { builtIn, model } = context;
    const agrees = part.causes[0] !== undefined && part.causes[0].service === builtIn;
    const verdicts = Object.fromEntries(counts);
    return { opinion: { model: model.slice(0, 200), ...part, verdicts, agrees }, refusals };
  };
  const nothing = { words: "", causes: [], counterfactuals: [] };
  if (read === undefined) {
    say("format", "the answer");
    return opinion(nothing);
  }
  const { dropped, transcript } = read;
  for (let at = 0; at < dropped; at += 1) say("format", "an entry or a list");
  const services = new Map(context.sketch.services.map((each) => [each.id, each]));
  const faults = transcript.faults.map((fault) => ({
    fault,
    verdict: judgeFault(fault, services.get(fault.id)),
  }));
  for (const { fault, verdict } of faults) say(verdict, `the fault of service ${fault.id}`);
  const lies = faults.filter(({ verdict }) => verdict === "no-such-signal" || verdict === "value-differs");
  if (lies.length > MOST_FALSE) return opinion(nothing);
  const kept = faults.filter(({ verdict }) => verdict === "kept").map(({ fault }) => fault);
  const counterfactuals = transcript.counterfactuals.flatMap((each): CheckedCounterfactual[] => {
    const judged = judgeChange(each, services.get(each.id), context);
    say(judged.verdict, `${each.resource} of service ${each.id} to ${each.to}`);
    return judged.checked === undefined ? [] : [judged.checked];
  });
  const causes = rootsKept(transcript, kept, services, say);
  return opinion({ words: plainWords(transcript.think), causes, counterfactuals });
}

function judgeFault({ evidence }: Fault, service: Service | undefined): Verdict {
  if (service === undefined) return "no-such-service";
  for (const { signal, value } of evidence) {
    const found = service.signals.find((each) => each.signal === signal);
    if (found === undefined) return "no-such-signal";
    const scale = SHARE.test(signal) ? 0.01 : SECONDS.test(signal) ? 0.001 : 1;
    if (!isCited(value, found.value) && !isCited(scale * value, found.value)) return "value-differs";
  }
  const different = new Set(evidence.map(({ signal }) => signal));
  return different.size < LEAST_CITATIONS ? "too-little-evidence" : "kept";
}

/** Signals that are cited in percent or in milliseconds, too. */
const SHARE = /Ratio$|Utilisation$|^interference/;
const SECONDS = /Time$|P95$/;

/** Within what may differ, or rounded to the digits that it was cited with. */
function isCited(cited: number, value: number): boolean {
  const decimals = (String(cited).split(".")[1] ?? "").length;
  const rounding = Math.min(0.5 * 10 ** -decimals, MOST_ROUNDING * Math.abs(value));
  return Math.abs(cited - value) <= Math.max(ABSOLUTE, RELATIVE * Math.abs(value), rounding);
}

/** Numbers of a sketch's services by name, in any case. */
export function idsOf({ services }: { readonly services: readonly Pick<Service, "id" | "name">[] }): IdOf {
  const ids = new Map(services.map(({ id, name }) => [name.toLowerCase(), id]));
  for (const { id, name } of services) ids.set(name, id);
  return (name) => ids.get(name) ?? ids.get(name.toLowerCase());
}

interface JudgedChange {
  readonly verdict: Verdict;
  readonly checked?: CheckedCounterfactual;
}

/** The rules that hold whatever a model says: nothing shrinks while the objective is missed, and nothing grows beyond a step. */
function judgeChange(
  { expected, resource, to: asked }: Counterfactual,
  service: Service | undefined,
  { bounds, models, objectiveSeconds }: AnswerContext,
): JudgedChange {
  if (service === undefined) return { verdict: "no-such-service" };
  if (resource === "own-time" || models === undefined) return { verdict: "no-model" };
  const now = models.sizeOf(service.name);
  if (now === undefined) return { verdict: "no-model" };
  const [from, most] = changeLimits(now, bounds?.get(service.name))[resource];
  const isInside = asked >= from * (1 - ROUNDED) && asked <= most * (1 + ROUNDED);
  const to = Math.min(most, Math.max(from, asked));
  const isWhole = resource !== "replicas" || Number.isInteger(asked);
  if (!isWhole || !isInside) return { verdict: "unsafe" };
  const found = models.sized(service.name, resource, to);
  const isUnknown = resource === "memory" && found?.tailAfterSeconds === found?.tailBeforeSeconds;
  if (found === undefined || isUnknown) return { verdict: "no-model" };
  const checked = checkedOf(service.name, resource, found, objectiveSeconds);
  if (checked.outcome !== expected) return { verdict: "model-disagrees" };
  return expected === "better" ? { verdict: "kept", checked } : { verdict: "kept" };
}

/** A root must be among the faults that are kept, with the same type. */
function rootsKept(
  { roots }: Transcript,
  faults: readonly Fault[],
  services: ReadonlyMap<number, Service>,
  say: (verdict: Verdict, about: string) => void,
): ModelOpinion["causes"] {
  const causes: ModelOpinion["causes"] = [];
  for (const { id, type } of roots.slice(0, 16)) {
    const service = services.get(id);
    if (service === undefined) say("no-such-service", `the root ${id}`);
    else if (faults.some((fault) => fault.id === id && fault.type === type))
      causes.push({ service: service.name, type });
    else say("too-little-evidence", `the root ${id}, for which no fault of this type is kept`);
  }
  return causes;
}

/** Without what could move a terminal or a page. */
const plainWords = (text: string): string => text.replaceAll(/\p{C}+/gu, " ").slice(0, MOST_WORDS);
