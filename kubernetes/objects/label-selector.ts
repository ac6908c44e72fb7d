import { z } from "zod";
import { ListOf } from "./bounded.ts";
import { StringMap } from "./metadata.ts";

/** Of each part of a selector: one with more is not read, for it is compared with every pod. */
const MOST_TERMS = 100;

/** `metav1.LabelSelector`. */
export const LabelSelector = z.object({
  matchLabels: StringMap.refine((labels) => Object.keys(labels).length <= MOST_TERMS, {
    message: `has more than ${MOST_TERMS} labels`,
  }),
  matchExpressions: ListOf(
    z.object({
      key: z.string(),
      /** `In`, `NotIn`, `Exists`, `DoesNotExist`. */
      operator: z.string(),
      values: ListOf(z.string(), MOST_TERMS),
    }),
    MOST_TERMS,
  ),
});
export type LabelSelector = z.infer<typeof LabelSelector>;

/** Whether labels meet all that a selector asks for, as the API server matches them; one that asks for nothing is met by all. */
export function selects(
  { matchExpressions, matchLabels }: LabelSelector,
  labels: Readonly<Record<string, string>>,
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every((each) => meets(each, labels[each.key]))
  );
}

function meets(
  { operator, values }: LabelSelector["matchExpressions"][number],
  value: string | undefined,
): boolean {
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    default:
      // An operator of a later API: what it selects is not known, so nothing is left out.
      return true;
  }
}
