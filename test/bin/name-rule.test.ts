import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const LINTER = join(ROOT, "node_modules/oxlint/bin/oxlint");

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "tradewind-names-"));
  const rules = { "names/noun": "error", "names/telling": "error" };
  writeFileSync(
    join(directory, "lint.json"),
    JSON.stringify({ jsPlugins: [join(ROOT, "bin/name-rule.ts")], rules }),
  );
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Names that the linter complains of. */
function namesIn(text: string): string[] {
  writeFileSync(join(directory, "it.ts"), text);
  const { stderr, stdout } = spawnSync(
    process.execPath,
    [LINTER, "-c", "lint.json", "--format", "unix", "it.ts"],
    { cwd: directory, encoding: "utf8" },
  );
  const complaints = (stdout + stderr).split("\n").filter((line) => line.includes("names("));
  return complaints.map((line) => /'(\w+)'/.exec(line)?.[1] ?? line);
}

/** A function whose value is used `lines` lines after it came. */
const living = (declaration: string, name: string, lines: number): string =>
  `export function f(list: number[]): number {\n${declaration}${"\n  list.pop();".repeat(lines - 1)}\n  return ${name};\n}\n`;

describe("the linter's rules on names", () => {
  it("want a noun for a type, and take nouns that end as participles do", () => {
    const types = ["Known", "Held", "Decided", "Judged", "KnownService", "Seed", "Speed", "Window"];
    const text = types.map((name) => `export interface ${name} {\n  readonly a: number;\n}\n`).join("");
    expect(namesIn(text).toSorted()).toEqual(["Decided", "Held", "Judged", "Known"]);
  });

  it.each(["at", "each", "known", "most", "before", "one"])(
    "want another name for a long-lived '%s'",
    (name) => {
      expect(namesIn(living(`  const ${name} = list.length;`, name, 6))).toEqual([name]);
      expect(namesIn(living(`  const ${name} = list.length;`, name, 5))).toEqual([]);
    },
  );

  it("look at parameters, and not at a field that is taken over by its name", () => {
    const lines = "\n  console.log(1);".repeat(6);
    expect(namesIn(`export function f(before: number): number {${lines}\n  return before;\n}\n`)).toEqual([
      "before",
    ]);
    const field = `export function f({ before }: { before: number }): number {${lines}\n  return before;\n}\n`;
    expect(namesIn(field)).toEqual([]);
  });
});
