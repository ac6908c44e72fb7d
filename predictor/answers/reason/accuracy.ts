import { ACCURACY_SCHEMA, CauseJudgement, LABEL_SOURCES } from "@tradewind/core/contract/accuracy.ts";
import type { Accuracy, CauseLabel } from "@tradewind/core/contract/accuracy.ts";
import type { Explanation } from "@tradewind/core/contract/explanation.ts";
import { Count } from "@tradewind/core/contract/quantity.ts";
import { z } from "zod";

/** Judgements that are kept, the newest. */
const MOST_JUDGEMENTS = 500;
/** Who names causes without a language model. */
export const BUILT_IN = "built-in";

/** What is remembered of how right reasoners were. */
export const AccuracyState = z.strictObject({
  judgements: z.array(CauseJudgement).max(MOST_JUDGEMENTS),
  executed: z.strictObject({ agreed: Count, differed: Count }),
});
export type AccuracyState = z.infer<typeof AccuracyState>;

export const emptyAccuracy = (): AccuracyState => ({ judgements: [], executed: { agreed: 0, differed: 0 } });

type Truth = Pick<CauseJudgement, "service" | "source" | "type">;

/** The explanation and the opinion of a model, each judged by what the cause was. */
export function judgementsOf(
  { atMs, causes, opinion }: Pick<Explanation, "atMs" | "causes" | "opinion">,
  truth: Truth,
): CauseJudgement[] {
  const judged = (reasoner: string, named: readonly { readonly service: string }[]): CauseJudgement => {
    const at = named.findIndex(({ service }) => service === truth.service);
    const verdict = at === 0 ? "first" : at > 0 ? "among" : named.length > 0 ? "wrong" : "none";
    return { atMs, reasoner, ...truth, verdict };
  };
  const builtIn = judged(BUILT_IN, causes);
  return opinion === undefined ? [builtIn] : [builtIn, judged(opinion.model, opinion.causes)];
}

/** The newer judgement counts where the same is judged by the same source again. */
export function withJudgements(state: AccuracyState, added: readonly CauseJudgement[]): AccuracyState {
  const keyOf = ({ atMs, reasoner, source }: CauseJudgement): string => `${atMs}\n${reasoner}\n${source}`;
  const keys = new Set(added.map(keyOf));
  const kept = state.judgements.filter((each) => !keys.has(keyOf(each)));
  return { ...state, judgements: [...kept, ...added].slice(-MOST_JUDGEMENTS) };
}

/** What people see of it. */
export function accuracyOf(
  { executed, judgements }: AccuracyState,
  of: Pick<Accuracy, "application" | "namespace">,
): Accuracy {
  const reasoners = [...new Set(judgements.map(({ reasoner }) => reasoner))].slice(0, 16);
  const causes = reasoners.flatMap((reasoner) =>
    LABEL_SOURCES.flatMap((source) => {
      const ones = judgements.filter((each) => each.reasoner === reasoner && each.source === source);
      const count = (verdict: CauseJudgement["verdict"]): number =>
        ones.filter((each) => each.verdict === verdict).length;
      return ones.length === 0
        ? []
        : [{ reasoner, source, judged: ones.length, first: count("first"), among: count("among") }];
    }),
  );
  return {
    schema: ACCURACY_SCHEMA,
    ...of,
    causes,
    counterfactuals: { executed: executed.agreed + executed.differed, agreed: executed.agreed },
  };
}

/** Explanations whose first cause was right, of those that anybody judged: by the surest source each. */
export function rightOfJudged(
  judgements: readonly CauseJudgement[],
): { readonly judged: number; readonly first: number } | undefined {
  const best = new Map<number, CauseJudgement>();
  const rank = ({ source }: CauseJudgement): number => LABEL_SOURCES.indexOf(source);
  for (const each of judgements) {
    const known = best.get(each.atMs);
    if (each.reasoner === BUILT_IN && (known === undefined || rank(each) < rank(known)))
      best.set(each.atMs, each);
  }
  const all = [...best.values()];
  if (all.length === 0) return undefined;
  return { judged: all.length, first: all.filter(({ verdict }) => verdict === "first").length };
}

/** Which explanation a label is of; undefined where none fits. @param kept oldest first */
export function explanationFor<Kept extends Pick<Explanation, "atMs">>(
  kept: readonly Kept[],
  { fromMs, toMs }: Pick<CauseLabel, "fromMs" | "toMs">,
  nearMs: number,
): Kept | undefined {
  if (toMs > fromMs) return kept.findLast(({ atMs }) => atMs >= fromMs && atMs <= toMs);
  const [nearest] = kept.toSorted((a, b) => Math.abs(a.atMs - fromMs) - Math.abs(b.atMs - fromMs));
  return nearest !== undefined && Math.abs(nearest.atMs - fromMs) <= nearMs ? nearest : undefined;
}
