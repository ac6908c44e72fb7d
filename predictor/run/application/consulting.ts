import type { ModelOpinion } from "@tradewind/core/contract/explanation.ts";
import type { WhatIf } from "../../decide/cost/price/what-if.ts";
import type { ModelConnection } from "../../answers/language-model/model.ts";
import { checkAnswer } from "../../answers/reason/check-answer.ts";
import type { Reasoned } from "../../answers/reason/explain.ts";
import { promptOf } from "../../answers/reason/prompt.ts";

/** What a model said of one window. */
export interface Consulted {
  readonly opinion: ModelOpinion;
  /** As it came. */
  readonly answer: string;
}

/**
 * Asks a model about an explanation.
 * @param isLate whether an answer that comes now is of another time
 * @returns undefined where it did not answer in time
 */
export async function consult(
  reasoner: Pick<ModelConnection, "ask" | "model">,
  { explanation, sketch }: Reasoned,
  models: WhatIf | undefined,
  isLate: () => boolean,
): Promise<Consulted | undefined> {
  const { causes, objective } = explanation;
  const suspects = causes.map(({ service }) => service);
  const answer = await reasoner.ask(promptOf(sketch, suspects, explanation));
  if (answer === undefined || isLate()) return undefined;
  const { model } = reasoner;
  const asked = { model, sketch, objectiveSeconds: objective.seconds, models, builtIn: suspects[0] };
  return { opinion: checkAnswer(answer, asked), answer };
}
