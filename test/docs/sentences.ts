/** A sentence of a Markdown text and the line that its paragraph begins on. */
export interface Sentence {
  readonly line: number;
  readonly text: string;
  readonly words: number;
}

interface Block {
  readonly line: number;
  readonly text: string;
}

const FENCE = /^\s*(```|~~~)/;
/** What begins a paragraph of its own: a heading, an item of a list, a quotation. */
const STARTS = /^\s*(#{1,6}\s|[-*+]\s|\d+\.\s|>)/;
const RULE = /^[\s|:-]+$/;
/** End of a sentence: a full stop, question or exclamation mark, and then the beginning of another; or a semicolon. */
const END = /(?<=[.!?][)"'”*_]*)\s+(?=["'“(*_[`]*[\p{Lu}\d`])|(?<=;)\s+/u;
const ABBREVIATION = /\b(e\.g|i\.e|cf|vs|approx|No|Fig|Eq|T)\.$/;

/** Paragraphs, list items, headings and cells of tables; code blocks and comments are left out. */
function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  const withoutComments = markdown.replace(/<!--[\s\S]*?-->/g, (text) => text.replace(/[^\n]/g, ""));
  let isCode = false;
  let open: { line: number; lines: string[] } | undefined;
  const close = (): void => {
    if (open !== undefined) blocks.push({ line: open.line, text: open.lines.join(" ") });
    open = undefined;
  };
  for (const [at, text] of withoutComments.split("\n").entries()) {
    const line = at + 1;
    if (FENCE.test(text)) isCode = !isCode;
    const isTable = text.trimStart().startsWith("|");
    if (isCode || FENCE.test(text) || isTable || text.trim() === "" || STARTS.test(text)) close();
    if (isCode || FENCE.test(text) || text.trim() === "" || RULE.test(text)) continue;
    if (isTable) blocks.push(...text.split(/(?<!\\)\|/).map((cell) => ({ line, text: cell })));
    else if (open === undefined) open = { line, lines: [text.replace(STARTS, "")] };
    else open.lines.push(text.trim());
  }
  close();
  return blocks;
}

/** Text as it is read: a link is its words, a code span one word. */
const asRead = (text: string): string =>
  text
    .replace(/`[^`]*`/g, "`code`")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/<https?:[^>]*>/g, "address");

/** Every sentence of a Markdown text. A sentence ends where its paragraph, list item or cell of a table does. */
export function sentencesOf(markdown: string): Sentence[] {
  return blocksOf(markdown).flatMap(({ line, text }) => {
    const pieces: string[] = [];
    for (const piece of asRead(text).split(END)) {
      const last = pieces.at(-1);
      if (last !== undefined && ABBREVIATION.test(last)) pieces[pieces.length - 1] = `${last} ${piece}`;
      else pieces.push(piece);
    }
    return pieces.map((each) => ({
      line,
      text: each.trim(),
      words: each.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length,
    }));
  });
}
