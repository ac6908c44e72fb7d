import type { ModelOpinion } from "@tradewind/core/contract/explanation.ts";
import type { WhatIf } from "../../decide/cost/price/what-if.ts";
import type { ModelConnection, ReasonerArm } from "../../answers/language-model/model.ts";
import { checkAnswer } from "../../answers/reason/check-answer.ts";
import { isBShown } from "../../answers/reason/comparison.ts";
import type { Reasoned } from "../../answers/reason/explain.ts";
import { promptOf } from "../../answers/reason/prompt.ts";

/** What models said of one window. */
export interface Consulted {
  /** In the order in which they are compared; undefined of one that gave no answer in time. */
  readonly opinions: readonly (ModelOpinion | undefined)[];
  /** As they came. */
  readonly answers: readonly { readonly model: string; readonly answer: string }[];
  /** The one that readers see. */
  readonly shown: ModelOpinion;
}

/**
 * Asks a model, or the two that are compared, about an explanation; the one that is shown today first.
 * @param isLate whether an answer that comes now is of another time
 * @returns undefined where none answered in time
 */
export async function consult(
  reasoner: Pick<ModelConnection, "arms" | "ask">,
  { explanation, sketch }: Reasoned,
  models: WhatIf | undefined,
  isLate: () => boolean,
): Promise<Consulted | undefined> {
  const { arms } = reasoner;
  const { application, atMs, causes, objective } = explanation;
  const first = causes.map(({ service }) => service);
  const prompt = promptOf(sketch, first, explanation);
  const [a, b] = arms;
  const isB = b !== undefined && isBShown(application, atMs);
  const opinions = new Map<ReasonerArm, ModelOpinion>();
  const answers: Consulted["answers"][number][] = [];
  for (const arm of isB ? [b, a] : [a, b]) {
    if (arm === undefined) continue;
    const answer = await reasoner.ask(prompt, arm);
    if (answer === undefined || isLate()) continue;
    answers.push({ model: arm.name, answer });
    opinions.set(
      arm,
      checkAnswer(answer, {
        model: arm.name,
        sketch,
        objectiveSeconds: objective.seconds,
        models,
        builtIn: first[0],
      }),
    );
  }
  const [shown] = opinions.values();
  return shown && { opinions: arms.map((arm) => opinions.get(arm)), answers, shown };
}
