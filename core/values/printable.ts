/** Control and format characters, among them those that turn the order of writing, and separators of lines and paragraphs. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]/u;
/** The same but for ends of lines, and before them the colours of core/terminal/style.ts. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const COLOUR_OR_HIDDEN = /\u001B\[(?:1|2|22|31|32|33|36|39)m|(?!\n)[\p{C}\p{Zl}\p{Zp}]/gu;

/** Whether nothing in the text acts on a terminal or is hidden on it. */
export const isPrintable = (text: string): boolean => !HIDDEN.test(text);

/**
 * What a command prints, with escapes in the place of what would act on a terminal or be hidden on it: `\u001b`, as in JSON, so that a
 * JSON text says the same.
 * @param hasColours leaves the colours of core/terminal/style.ts as they are
 */
export const printable = (text: string, hasColours = false): string =>
  text.replaceAll(COLOUR_OR_HIDDEN, (found) =>
    hasColours && found.endsWith("m") ? found : found.replaceAll(/[^\x20-\x7e]/g, escaped),
  );

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
