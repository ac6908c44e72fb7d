import type { ApplicationContext } from "@tradewind/core/contract/context.ts";
import type { ModelOpinion } from "@tradewind/core/contract/explanation.ts";
import type { ServiceSensitivity } from "@tradewind/core/contract/sensitivities.ts";
import type { WhatIf } from "../../decide/cost/price/what-if.ts";
import type { ModelConnection } from "../../answers/language-model/model.ts";
import { changeLimits, checkAnswer } from "../../answers/reason/check-answer.ts";
import type { AnswerContext, ChangeLimits, CheckedAnswer } from "../../answers/reason/check-answer.ts";
import type { Reasoned } from "../../answers/reason/explain.ts";
import { promptOf } from "../../answers/reason/prompt.ts";
import type { Prompt } from "../../answers/reason/prompt.ts";

/** What is told besides the explanation. */
export interface Told {
  readonly context?: ApplicationContext | undefined;
  readonly sensitivities?: readonly ServiceSensitivity[] | undefined;
}

/** What a model said of one window. */
export interface Consulted {
  readonly opinion: ModelOpinion;
  /** As it came. */
  readonly answer: string;
  /** What it was asked with. */
  readonly prompt: Prompt;
}

const REFUSALS_TOLD = 20;

/**
 * Asks a model about an explanation, and once more with what was refused where no cause or no change of the answer is kept.
 * @returns undefined where it did not answer
 */
export async function consult(
  reasoner: Pick<ModelConnection, "ask" | "model">,
  { explanation, sketch }: Reasoned,
  models: WhatIf | undefined,
  told: Told = {},
): Promise<Consulted | undefined> {
  const { causes, objective } = explanation;
  const suspects = causes.map(({ service }) => service);
  const bounds = new Map(
    (told.context?.services ?? []).flatMap((each) =>
      each.bounds === undefined ? [] : [[each.service, each.bounds] as const],
    ),
  );
  const limits = new Map<string, ChangeLimits>();
  for (const { name } of sketch.services) {
    const size = models?.sizeOf(name);
    if (size !== undefined) limits.set(name, changeLimits(size, bounds.get(name)));
  }
  const { patterns, precedents } = explanation;
  const prompt = promptOf(sketch, suspects, { patterns, precedents, ...told, limits });
  const answer = await reasoner.ask(prompt);
  if (answer === undefined) return undefined;
  const { model } = reasoner;
  const context: AnswerContext = {
    model,
    sketch,
    objectiveSeconds: objective.seconds,
    models,
    builtIn: suspects[0],
    bounds,
  };
  const first = { answer, prompt, checked: checkAnswer(answer, context) };
  const objection = objectionTo(first.checked);
  if (objection === undefined) return consulted(first);
  const secondPrompt = { ...prompt, earlier: { answer, objection } };
  const answered = await reasoner.ask(secondPrompt);
  if (answered === undefined) return consulted(first);
  const second = { answer: answered, prompt: secondPrompt, checked: checkAnswer(answered, context) };
  return consulted(keptOf(second.checked) >= keptOf(first.checked) ? second : first);
}

interface Answered extends Pick<Consulted, "answer" | "prompt"> {
  readonly checked: CheckedAnswer;
}

const consulted = ({ answer, checked, prompt }: Answered): Consulted => ({
  opinion: checked.opinion,
  answer,
  prompt,
});

const keptOf = ({ opinion: { causes, counterfactuals } }: CheckedAnswer): number =>
  causes.length + counterfactuals.length;

/** Undefined where a cause and a change are kept, or nothing was refused. */
function objectionTo({ opinion: { causes, counterfactuals }, refusals }: CheckedAnswer): string | undefined {
  if (refusals.length === 0 || (causes.length > 0 && counterfactuals.length > 0)) return undefined;
  const lines = refusals.slice(0, REFUSALS_TOLD).map((refusal) => `- ${refusal}`);
  return `Checked against the state, these parts of your answer do not hold:\n${lines.join("\n")}\nAnswer once more, whole and in the same form.`;
}
