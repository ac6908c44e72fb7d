import type { Cell, EmulatedTerminal } from "./emulated.ts";

type Lines = ReturnType<EmulatedTerminal["lines"]>;

/** What a terminal showed at one time. */
export interface Frame {
  /** Since the recording began. */
  readonly seconds: number;
  readonly lines: Lines;
}

/** Runs of cells of one style. */
function runsOf(line: readonly Cell[]): { readonly style: string; readonly text: string }[] {
  const runs: { style: string; text: string }[] = [];
  for (const { character, style } of line) {
    const last = runs.at(-1);
    if (last?.style === style) last.text += character;
    else runs.push({ style, text: character });
  }
  return runs;
}

const written = (line: readonly Cell[]): string =>
  runsOf(line)
    .map(({ style, text }) => (style === "" ? text : `\u001B[${style}m${text}\u001B[0m`))
    .join("");

/** The frames as an asciinema recording, version 2 (docs.asciinema.org/manual/asciicast/v2): of each frame the lines that changed. */
export function castOf(frames: readonly Frame[], { columns, rows, title }: CastFacts): string {
  const header = { version: 2, width: columns, height: rows, title };
  let before: string[] = [];
  const events = frames.flatMap(({ lines, seconds }) => {
    const now = lines.map(written);
    const changes = now
      .map((line, row) => (line === (before[row] ?? "") ? "" : `\u001B[${row + 1};1H\u001B[2K${line}`))
      .join("");
    before = now;
    return changes === "" ? [] : [[Number(seconds.toFixed(2)), "o", changes]];
  });
  return [header, ...events].map((each) => `${JSON.stringify(each)}\n`).join("");
}

export interface CastFacts {
  readonly columns: number;
  readonly rows: number;
  readonly title: string;
}

/** Size of a character and of a line of the drawing, and its margin, px. */
const [WIDTH, HEIGHT, MARGIN] = [8.4, 18, 14];
/** Colours of a dark terminal, each at 4.5 : 1 on its ground or above. */
const GROUND = "#161b22";
const INK = "#d7dde4";
const COLOURS: Readonly<Record<string, string>> = {
  "2": "#929ca8",
  "31": "#ff7b72",
  "32": "#56d364",
  "33": "#e3b341",
  "36": "#76e3ea",
};

/** One frame as a drawing for pages that play no recording. @param label what it shows, for those who do not see it */
export function drawingOf({ lines }: Frame, columns: number, label: string): string {
  const used = lines.findLastIndex((line) => line.length > 0) + 1;
  const [width, height] = [2 * MARGIN + WIDTH * columns, 2 * MARGIN + HEIGHT * used];
  const texts = lines.slice(0, used).flatMap((line, row) => {
    let column = 0;
    return runsOf(line).flatMap(({ style, text }) => {
      const at = column;
      column += text.length;
      if (text.trim() === "") return [];
      const codes = style.split(";");
      const colour = codes.map((code) => COLOURS[code]).find((each) => each !== undefined) ?? INK;
      const bold = codes.includes("1") ? ' font-weight="700"' : "";
      const x = (MARGIN + WIDTH * at).toFixed(1);
      const y = MARGIN + HEIGHT * row + 13;
      return [
        `<text x="${x}" y="${y}" textLength="${(WIDTH * text.length).toFixed(1)}" fill="${colour}"${bold}>${unbroken(text)}</text>`,
      ];
    });
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width.toFixed(0)} ${height}" role="img" aria-label="${escaped(label)}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">
<rect width="100%" height="100%" rx="8" fill="${GROUND}"/>
${texts.join("\n")}
</svg>
`;
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/** Browsers draw several blanks in a row as one, unless they must not break there. */
const unbroken = (text: string): string => escaped(text).replaceAll(" ", "\u00A0");
