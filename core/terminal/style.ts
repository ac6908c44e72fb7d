import { stripVTControlCharacters, styleText } from "node:util";

export type Tone = "bold" | "dim" | "green" | "yellow" | "red" | "cyan";

/** Colours a text, or leaves it as it is. */
export type Paint = (tone: Tone, text: string) => string;

export const plain: Paint = (_tone, text) => text;
export const coloured: Paint = (tone, text) => styleText(tone, text, { validateStream: false });

/** Colours only on a terminal, and never against NO_COLOR (https://no-color.org). */
export function choosePaint(
  isTerminal: boolean,
  env: { readonly NO_COLOR?: string | undefined; readonly TERM?: string | undefined },
): Paint {
  const refused = (env.NO_COLOR ?? "") !== "" || env.TERM === "dumb";
  return isTerminal && !refused ? coloured : plain;
}

export const widthOf = (text: string): number => Array.from(stripVTControlCharacters(text)).length;

/** Cuts to a width, with an ellipsis where something was cut. For text without colours. */
export function cut(text: string, width: number): string {
  const characters = Array.from(text);
  if (characters.length <= width) return text;
  return width <= 1
    ? characters.slice(0, Math.max(0, width)).join("")
    : `${characters.slice(0, width - 1).join("")}…`;
}

export const padRight = (text: string, width: number): string =>
  text + " ".repeat(Math.max(0, width - widthOf(text)));
export const padLeft = (text: string, width: number): string =>
  " ".repeat(Math.max(0, width - widthOf(text))) + text;

/**
 * Breaks a text at blanks into lines of at most `width` columns, each with the indentation of the text; a longer word is cut into
 * pieces. A text that fits stays as it is. For text without colours.
 */
export function wrap(text: string, width: number): string[] {
  if (widthOf(text) <= width) return [text];
  const indent = /^ */.exec(text)?.[0] ?? "";
  const room = Math.max(1, width - indent.length);
  const lines: string[] = [];
  let line = "";
  for (const word of text.trim().split(/ +/)) {
    let rest = Array.from(word);
    if (line !== "" && widthOf(line) + 1 + rest.length > room) {
      lines.push(line);
      line = "";
    }
    for (; rest.length > room; rest = rest.slice(room)) lines.push(rest.slice(0, room).join(""));
    line = line === "" ? rest.join("") : `${line} ${rest.join("")}`;
  }
  return [...lines, line].map((each) => `${indent}${each}`);
}
