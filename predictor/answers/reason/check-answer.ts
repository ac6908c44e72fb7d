import type {
  ANSWER_VERDICTS,
  CheckedCounterfactual,
  ModelOpinion,
} from "@tradewind/core/contract/explanation.ts";
import type { WhatIf } from "../../decide/cost/price/what-if.ts";
import { checkedOf } from "./counterfactuals.ts";
import { parseTranscript } from "./grammar.ts";
import type { Counterfactual, Fault, Transcript } from "./grammar.ts";
import type { Sketch } from "./sketch.ts";

type Verdict = (typeof ANSWER_VERDICTS)[number];
type Service = Sketch["services"][number];

/** A cited value may differ by so much: 5 %, or 0.01. */
const RELATIVE = 0.05;
const ABSOLUTE = 0.01;
const LEAST_CITATIONS = 2;
/** So many false citations, and nothing of the answer counts. */
const MOST_FALSE = 1;
/** A proposal may add so many replicas, or multiply CPU by so much. */
const MOST_REPLICAS = 3;
const MOST_CPU_FACTOR = 2;
const MOST_WORDS = 4_000;

/** What an answer is checked against: the very state that it was asked about, and the live models. */
export interface AnswerContext {
  readonly model: string;
  readonly sketch: Sketch;
  readonly objectiveSeconds: number;
  /** Undefined where none decided on this window. */
  readonly models: Pick<WhatIf, "sized" | "sizeOf"> | undefined;
  /** First cause of the built-in reasoner. */
  readonly builtIn: string | undefined;
}

/** Checks an answer (ORACL sheet, 2.6). Never throws, whatever it holds: what is not true is dropped, with its verdict. */
export function checkAnswer(answer: string, context: AnswerContext): ModelOpinion {
  const counts = new Map<Verdict, number>();
  const say = (verdict: Verdict): void => void counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  const { transcript } = parseTranscript(answer);
  const opinion = (part: Pick<ModelOpinion, "words" | "causes" | "counterfactuals">): ModelOpinion => {
    const { builtIn, model } = context;
    const agrees = part.causes[0] !== undefined && part.causes[0].service === builtIn;
    return { model: model.slice(0, 200), ...part, verdicts: Object.fromEntries(counts), agrees };
  };
  const nothing = { words: "", causes: [], counterfactuals: [] };
  if (transcript === undefined) {
    say("format");
    return opinion(nothing);
  }
  const services = new Map(context.sketch.services.map((each) => [each.id, each]));
  const faults = transcript.faults.map((fault) => ({
    fault,
    verdict: judgeFault(fault, services.get(fault.id)),
  }));
  for (const { verdict } of faults) say(verdict);
  const lies = faults.filter(({ verdict }) => verdict === "no-such-signal" || verdict === "value-differs");
  if (lies.length > MOST_FALSE) return opinion(nothing);
  const kept = faults.filter(({ verdict }) => verdict === "kept").map(({ fault }) => fault);
  const counterfactuals = transcript.counterfactuals.flatMap((each): CheckedCounterfactual[] => {
    const judged = judgeChange(each, services.get(each.id), context);
    say(judged.verdict);
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
    const allowed = Math.max(ABSOLUTE, RELATIVE * Math.abs(found.value));
    if (!(Math.abs(value - found.value) <= allowed)) return "value-differs";
  }
  const different = new Set(evidence.map(({ signal }) => signal));
  return different.size < LEAST_CITATIONS ? "too-little-evidence" : "kept";
}

interface JudgedChange {
  readonly verdict: Verdict;
  readonly checked?: CheckedCounterfactual;
}

/** The rules that hold whatever a model says: nothing shrinks while the objective is missed, and nothing grows beyond a step. */
function judgeChange(
  { expected, resource, to }: Counterfactual,
  service: Service | undefined,
  { models, objectiveSeconds }: AnswerContext,
): JudgedChange {
  if (service === undefined) return { verdict: "no-such-service" };
  if (resource === "own-time" || models === undefined) return { verdict: "no-model" };
  const now = models.sizeOf(service.name);
  if (now === undefined) return { verdict: "no-model" };
  const [from, most] =
    resource === "replicas"
      ? [now.replicas, now.replicas + MOST_REPLICAS]
      : [now.cpuCores, MOST_CPU_FACTOR * now.cpuCores];
  const isWhole = resource === "cpu" || Number.isInteger(to);
  if (!isWhole || to < from || to > most) return { verdict: "unsafe" };
  const found = models.sized(service.name, resource, to);
  if (found === undefined) return { verdict: "no-model" };
  const checked = checkedOf(service.name, resource, found, objectiveSeconds);
  if (checked.outcome !== expected) return { verdict: "model-disagrees" };
  return expected === "better" ? { verdict: "kept", checked } : { verdict: "kept" };
}

/** A root must be among the faults that are kept, with the same type. */
function rootsKept(
  { roots }: Transcript,
  faults: readonly Fault[],
  services: ReadonlyMap<number, Service>,
  say: (verdict: Verdict) => void,
): ModelOpinion["causes"] {
  const causes: ModelOpinion["causes"] = [];
  for (const { id, type } of roots.slice(0, 16)) {
    const service = services.get(id);
    if (service === undefined) say("no-such-service");
    else if (faults.some((fault) => fault.id === id && fault.type === type))
      causes.push({ service: service.name, type });
    else say("too-little-evidence");
  }
  return causes;
}

/** Without what could move a terminal or a page. */
const plainWords = (text: string): string => text.replaceAll(/\p{C}+/gu, " ").slice(0, MOST_WORDS);
