import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sentencesOf } from "./sentences.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const MOST_WORDS = 35;

/** Beginnings of the few sentences that may be longer: they quote or list what cannot be split. */
const ALLOWED: readonly string[] = [];

const pages = [
  "README.md",
  "charts/tradewind/README.md",
  ...globSync("docs/**/*.md", { cwd: ROOT }).toSorted(),
];

describe("sentencesOf", () => {
  it("ends sentences at full stops and semicolons, and reads links and code as they are shown", () => {
    const text = "One `a b c` [two words](x.md). Three\nfour; five, e.g. six.\n";
    expect(sentencesOf(text)).toEqual([
      { line: 1, text: "One `code` two words.", words: 4 },
      { line: 1, text: "Three four;", words: 2 },
      { line: 1, text: "five, e.g. six.", words: 3 },
    ]);
  });

  it("takes list items, headings and cells of tables apart, and leaves out code blocks and comments", () => {
    const text =
      "# Head\n- one\n- two\n  more\n\n```\nnot this\n```\n<!-- nor\nthis -->\n| a | b c |\n| - | --- |\n";
    expect(sentencesOf(text).filter(({ words }) => words > 0)).toEqual([
      { line: 1, text: "Head", words: 1 },
      { line: 2, text: "one", words: 1 },
      { line: 3, text: "two more", words: 2 },
      { line: 11, text: "a", words: 1 },
      { line: 11, text: "b c", words: 2 },
    ]);
  });

  it("finds a sentence that is too long", () => {
    const [first] = sentencesOf(`${"word ".repeat(36)}end.`);
    expect(first?.words).toBe(37);
  });
});

describe(`no sentence over ${MOST_WORDS} words`, () => {
  it.each(pages)("in %s", (page) => {
    const long = sentencesOf(readFileSync(join(ROOT, page), "utf8"))
      .filter(({ text, words }) => words > MOST_WORDS && !ALLOWED.some((start) => text.startsWith(start)))
      .map(({ line, text, words }) => `line ${line}: ${words} words: ${text}`);
    expect(long).toEqual([]);
  });
});
