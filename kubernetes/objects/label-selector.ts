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

const MOST_SELECTOR_CHARACTERS = 4_096;
const LISTED = /^([^ !=]+) (in|notin) \(([^()]*)\)$/;
const COMPARED = /^([^!=]+)(!=|==?)([^!=]*)$/;
const NAMED = /^!?[^ !=()]+$/;

/**
 * A selector as `/scale` writes it, such as `app=web,tier in (a, b),!canary`.
 * @returns undefined where it asks for nothing, or is not understood
 */
export function parseSelector(text: string): LabelSelector | undefined {
  if (text.length > MOST_SELECTOR_CHARACTERS) return undefined;
  const parts: string[] = [];
  let depth = 0;
  for (const piece of text.split(",")) {
    if (depth > 0) parts[parts.length - 1] += `,${piece}`;
    else parts.push(piece);
    depth += Number(piece.includes("(")) - Number(piece.includes(")"));
  }
  const terms = parts.map((part) => expressionOf(part.trim()));
  const matchExpressions = terms.filter((term) => term !== undefined);
  return terms.length > MOST_TERMS || matchExpressions.length < terms.length
    ? undefined
    : { matchLabels: {}, matchExpressions };
}

function expressionOf(text: string): LabelSelector["matchExpressions"][number] | undefined {
  const [, listed, among, list] = LISTED.exec(text) ?? [];
  if (listed !== undefined && list !== undefined) {
    const values = list.split(",").map((value) => value.trim());
    return { key: listed, operator: among === "in" ? "In" : "NotIn", values };
  }
  const [, compared, sign, value] = COMPARED.exec(text) ?? [];
  if (compared !== undefined && value !== undefined) {
    return { key: compared.trim(), operator: sign === "!=" ? "NotIn" : "In", values: [value.trim()] };
  }
  if (!NAMED.test(text)) return undefined;
  return text.startsWith("!")
    ? { key: text.slice(1), operator: "DoesNotExist", values: [] }
    : { key: text, operator: "Exists", values: [] };
}

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
