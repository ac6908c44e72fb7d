import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const LINTER = join(ROOT, "node_modules/oxlint/bin/oxlint");

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "tradewind-patterns-"));
  const config = { jsPlugins: [join(ROOT, "bin/pattern-rule.ts")], rules: { "patterns/linear": "error" } };
  writeFileSync(join(directory, "lint.json"), JSON.stringify(config));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function lint(text: string): { status: number | null; said: string } {
  writeFileSync(join(directory, "it.ts"), text);
  const { status, stderr, stdout } = spawnSync(
    process.execPath,
    [LINTER, "-c", "lint.json", "--format", "unix", "it.ts"],
    { cwd: directory, encoding: "utf8" },
  );
  return { status, said: stdout + stderr };
}

describe("the linter's rule on regular expressions", () => {
  it.each([
    { what: "a quadratic literal", text: "export const p = /\\s+$/;\n", says: "2nd degree polynomial" },
    { what: "an exponential literal", text: "export const p = /^(a|a)*$/;\n", says: "exponential" },
    { what: "a quadratic text given to RegExp", text: 'export const p = new RegExp("0+$");\n', says: "'0'" },
    { what: "one that no proof covers", text: "export const p = /(?<=a)b+$/;\n", says: "cannot be proved" },
  ])("names the line and the attack of $what", ({ says, text }) => {
    const { said, status } = lint(text);
    expect(status).toBe(1);
    expect(said).toMatch(/it\.ts:1:\d+/);
    expect(said).toContain(says);
  });

  it("lets a linear expression pass, and one whose directive says what bounds its text", () => {
    expect(lint("export const p = /^[a-z]+$/;\n").status).toBe(0);
    const directive = "// oxlint-disable-next-line patterns/linear -- at most 10 characters\n";
    expect(lint(`${directive}export const p = /0+$/;\n`).status).toBe(0);
  });
});
