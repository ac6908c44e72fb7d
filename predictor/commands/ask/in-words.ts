import type { Accuracy, ServiceAccuracy } from "@tradewind/core/contract/accuracy.ts";
import type { Explanation, NamedCause } from "@tradewind/core/contract/explanation.ts";
import type { Pattern } from "@tradewind/core/contract/pattern.ts";
import { percentileName } from "@tradewind/core/values/amounts.ts";
import { counterfactual, precedentInWords, reading, TYPE_WORDS } from "../../answers/reason/words.ts";

/** Whether an explanation says anything of a service. */
export const isAbout = ({ causes, counterfactuals, notCauses }: Explanation, service: string): boolean =>
  [...causes, ...counterfactuals, ...notCauses].some((each) => each.service === service);

/** The parts of an explanation that concern one service. */
export function concerning(explanation: Explanation, service: string): Explanation {
  const isOf = (each: { readonly service: string }): boolean => each.service === service;
  const { causes, counterfactuals, notCauses, patterns = [] } = explanation;
  return {
    ...explanation,
    causes: causes.filter(isOf),
    counterfactuals: counterfactuals.filter(isOf),
    notCauses: notCauses.filter(isOf),
    ...(explanation.patterns && {
      patterns: patterns.filter(
        (each) => each.service === undefined || each.service === service || each.callee === service,
      ),
    }),
  };
}

/** An explanation as lines of text. */
export function explanationInWords(explanation: Explanation): string {
  const { atMs, causes, counterfactuals, isMissed, missing, notCauses, onsetMs, pastWindows, summary } =
    explanation;
  const { objective, patterns = [] } = explanation;
  const since = isMissed ? `, since ${time(onsetMs)}` : "";
  const part = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : ["", title, ...lines.map((line) => `  ${line}`)];
  return [
    summary,
    `Window of ${time(atMs)}${since}; usual values are of ${pastWindows} windows that met the objective.`,
    ...part(
      "Causes:",
      causes.flatMap((each) => causeLines(each)),
    ),
    ...part(
      `Run on the models (${percentileName(objective.percentile)} of the slowest route):`,
      withEnd(counterfactuals),
    ),
    ...part(
      "Not the cause:",
      notCauses.map((each) => `${each.service}: ${each.why} [${each.code}]`),
    ),
    ...part("Seen in the windows and in the load:", patterns.map(patternInWords)),
    ...part("Happened before:", precedentLines(explanation)),
    ...part("Not known:", missing),
    ...part("How right it was before:", rightLines(explanation)),
    ...part("A model says, after checks:", opinionLines(explanation)),
  ].join("\n");
}

/** Each change by itself, after what is seen at once. */
const withEnd = (all: Explanation["counterfactuals"]): string[] => [
  ...(all.length === 0 || all.some(({ ends }) => ends) ? [] : ["No single change of these ends it."]),
  ...all.map(counterfactual),
];

const patternInWords = ({ confidence, kind, sinceMs, words }: Pattern): string =>
  `${words} [${kind}, confidence ${confidence.toFixed(2)}, since ${time(sinceMs)}]`;

const time = (ms: number): string => new Date(ms).toISOString();

function rightLines({ accuracy }: Explanation): string[] {
  if (accuracy === undefined) return [];
  const { first, judged } = accuracy;
  return [`${first} of ${judged} judged explanations named the cause first (tradewind explain --accuracy)`];
}

/** How often named causes were right. */
export function accuracyInWords({ causes, counterfactuals, routes = [], services = [] }: Accuracy): string {
  const { agreed, executed } = counterfactuals;
  return [
    ...(causes.length === 0
      ? ["No explanation was judged yet: tradewind explain --at TIME --cause SERVICE:TYPE"]
      : []),
    ...causes.map(
      ({ among, first, judged, reasoner, source }) =>
        `${reasoner}, judged by ${source}: first ${first} of ${judged}, among those named ${first + among}`,
    ),
    `Changes that were carried out: ${agreed} of ${executed} did what the models expected.`,
    ...services.map((each) => selfTimeInWords(each)),
    ...routes.map(
      ({ modelError, route, ruleError, windows }) =>
        `'${route}': models off by ${percent(modelError)}, the window before by ${percent(ruleError)}, over ${windows} windows`,
    ),
  ].join("\n");
}

const percent = (ratio: number): string => `${(100 * ratio).toFixed(0)} %`;

const EXPERT_WORDS = {
  lastValue: "the last window",
  median: "the median of the last windows",
  kernel: "windows at about this load",
  logLinear: "a line through loads",
  curve: "the queueing curve",
  network: "the latency network",
} as const satisfies Record<ServiceAccuracy["expert"], string>;

function selfTimeInWords(accuracy: ServiceAccuracy): string {
  const { coverage, error, expert, isHeldNear, modelError, rule, ruleError, service, windows } = accuracy;
  const known = `${service}: self time by ${EXPERT_WORDS[expert]}, off by ${percent(error)}`;
  const best = `best rule (${EXPERT_WORDS[rule]}) ${percent(ruleError)}, models ${percent(modelError)}`;
  const held = isHeldNear
    ? "; its models do worse than that rule: no more than a fifth is taken from it at a time"
    : "";
  return `${known}; ${best}; ${percent(coverage)} of ${windows} windows within their 80 % interval${held}`;
}

function precedentLines({ precedents }: Explanation): string[] {
  if (precedents === undefined || precedents.known === 0) return [];
  const { known, nearest } = precedents;
  return nearest.length === 0
    ? [`nothing like it among the last ${known} incidents`]
    : nearest.map((each) => precedentInWords(each));
}

function opinionLines({ opinion }: Explanation): string[] {
  if (opinion === undefined) return [];
  const { agrees, causes, counterfactuals, lateSeconds, model, verdicts, words } = opinion;
  const late = lateSeconds === undefined ? "" : `, ${lateSeconds.toFixed(0)} s late`;
  const named = causes.map(({ service, type }) => `${service} (${TYPE_WORDS[type]})`).join(", ");
  const counts = Object.entries(verdicts).map(([verdict, count]) => `${verdict} ${count}`);
  return [
    `${model}${late}: ${named === "" ? "no cause whose evidence is true" : named}${agrees ? ", as the built-in reasoner" : ""}`,
    ...counterfactuals.map((each) => counterfactual(each)),
    `verdicts: ${counts.join(", ")}`,
    ...(words === "" ? [] : [`not checked: ${words}`]),
  ];
}

function causeLines({ confidence, evidence, service, share, type }: NamedCause): string[] {
  if (evidence.length === 0)
    return [
      `${service} (${(100 * share).toFixed(0)} % of what was added; nothing was measured that says why)`,
    ];
  const parts = `${(100 * share).toFixed(0)} % of what was added, confidence ${confidence.toFixed(2)}`;
  const values = evidence.map((each) => `  ${reading(each)}, ${each.bin}`);
  return [`${service} (${TYPE_WORDS[type]}; ${parts})`, ...values];
}
