/** One condition on a label: that its value is one of these, or none of them. A label that a series lacks is empty. */
export interface Matcher {
  readonly label: string;
  readonly values: readonly string[];
  readonly isNegated?: boolean;
}

export const equal = (label: string, value: string): Matcher => ({ label, values: [value] });
export const oneOf = (label: string, values: readonly string[]): Matcher => ({ label, values });
export const noneOf = (label: string, values: readonly string[]): Matcher => ({
  label,
  values,
  isNegated: true,
});

/** Whether a series with these labels meets all conditions. */
export function meets(labels: Readonly<Record<string, string>>, matchers: readonly Matcher[]): boolean {
  return matchers.every(
    ({ isNegated = false, label, values }) => values.includes(labels[label] ?? "") !== isNegated,
  );
}

const escapeRegex = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);

/** A PromQL string: quotes, backslashes and control characters escaped. */
const quoted = (text: string): string => JSON.stringify(text);

/** Conditions as they stand between braces, values escaped for RE2: `code="200",path=~"a|b"`. */
export function conditions(matchers: readonly Matcher[]): string {
  return matchers
    .map(({ isNegated = false, label, values }) => {
      const [only = ""] = values;
      return values.length === 1
        ? `${label}${isNegated ? "!=" : "="}${quoted(only)}`
        : `${label}${isNegated ? "!~" : "=~"}${quoted(values.map(escapeRegex).join("|"))}`;
    })
    .join(",");
}

/** A selector such as `http_requests_total{code="200"}`; the metric's name goes into the braces when it is not plain. */
export function selector(metric: string, matchers: readonly Matcher[]): string {
  if (/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(metric)) {
    return matchers.length === 0 ? metric : `${metric}{${conditions(matchers)}}`;
  }
  return `{${conditions([equal("__name__", metric), ...matchers])}}`;
}

/** PromQL duration of whole milliseconds: `15s`, `1500ms`. */
export function duration(millis: number): string {
  return millis % 1_000 === 0 ? `${millis / 1_000}s` : `${Math.round(millis)}ms`;
}

/** An expression in which series that differ in these labels alone, which tell copies of one series apart, count once. */
export function once(expression: string, copyLabels: readonly string[]): string {
  return copyLabels.length === 0 ? expression : `max without (${copyLabels.join(",")}) (${expression})`;
}

/** `sum by (a,b) (expression)`; each series by itself without `by`. */
export function summedBy(by: readonly string[] | undefined, expression: string): string {
  return by === undefined ? expression : `sum by (${by.join(",")}) (${expression})`;
}
