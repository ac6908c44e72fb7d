/** One condition on a label. */
export interface Matcher {
  readonly label: string;
  readonly operator: "=" | "!=" | "=~" | "!~";
  readonly value: string;
}

export const equal = (label: string, value: string): Matcher => ({ label, operator: "=", value });

/** Any of these values, escaped for RE2. */
export function oneOf(label: string, values: readonly string[]): Matcher {
  const [only] = values;
  if (values.length === 1 && only !== undefined) return equal(label, only);
  return { label, operator: "=~", value: values.map(escapeRegex).join("|") };
}

export const escapeRegex = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);

/** A PromQL string: quotes, backslashes and control characters escaped. */
export const quoted = (text: string): string => JSON.stringify(text);

/** A selector such as `http_requests_total{code="200"}`; the metric's name goes into the braces when it is not plain. */
export function selector(metric: string, matchers: readonly Matcher[]): string {
  const conditions = matchers.map(({ label, operator, value }) => `${label}${operator}${quoted(value)}`);
  if (/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(metric)) {
    return conditions.length === 0 ? metric : `${metric}{${conditions.join(",")}}`;
  }
  return `{${[`__name__=${quoted(metric)}`, ...conditions].join(",")}}`;
}

/** PromQL duration of whole milliseconds: `15s`, `1500ms`. */
export function duration(millis: number): string {
  return millis % 1_000 === 0 ? `${millis / 1_000}s` : `${Math.round(millis)}ms`;
}

/** `sum by (a,b) (rate(selector[range]))` */
export function summedRate(by: readonly string[], selected: string, rangeMs: number): string {
  return `sum by (${by.join(",")}) (rate(${selected}[${duration(rangeMs)}]))`;
}
