import { z } from "zod";
import { StringMap } from "./metadata.ts";

/** `metav1.LabelSelector`. */
export const LabelSelector = z.object({
  matchLabels: StringMap,
  matchExpressions: z
    .array(
      z.object({
        key: z.string(),
        /** `In`, `NotIn`, `Exists`, `DoesNotExist`. */
        operator: z.string(),
        values: z
          .array(z.string())
          .nullish()
          .transform((values) => values ?? []),
      }),
    )
    .nullish()
    .transform((expressions) => expressions ?? []),
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
