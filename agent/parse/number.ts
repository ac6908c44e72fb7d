const ZERO = 48;
/** The kernel writes at most 20 digits (2^64 − 1); a longer run of digits is no counter, and 309 would be Infinity. */
const MOST_DIGITS = 24;

/**
 * The unsigned decimal number that starts at `at`, NaN when there is no digit or more than 24 of them. Values above 2^53
 * lose their lowest digits, which no rate can notice.
 */
export function unsignedAt(text: string, at: number): number {
  let value = 0;
  let index = at;
  for (; index < text.length; index += 1) {
    const digit = text.charCodeAt(index) - ZERO;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + digit;
  }
  return index === at || index - at > MOST_DIGITS || at < 0 ? Number.NaN : value;
}

/** A field that must be an unsigned decimal number and nothing else; NaN otherwise. */
export function unsigned(field: string | undefined): number {
  if (field === undefined || field.length === 0 || field.length > MOST_DIGITS) return Number.NaN;
  for (let index = 0; index < field.length; index += 1) {
    const digit = field.charCodeAt(index) - ZERO;
    if (digit < 0 || digit > 9) return Number.NaN;
  }
  return Number(field);
}

/** The fields of a line, separated by blanks. */
export function fields(line: string): string[] {
  const trimmed = line.trim();
  return trimmed === "" ? [] : trimmed.split(/[ \t]+/);
}
