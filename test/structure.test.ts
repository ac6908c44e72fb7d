import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..");
const FILES = execFileSync("git", ["ls-files", "*.ts", "*.js"], { cwd: ROOT, encoding: "utf8" })
  .split("\n")
  .filter((file) => file !== "" && !/^(?:test|bench)\//.test(file));
const KNOWN = new Set(FILES);

/** Files of ours that a file imports; types count. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), "utf8");
  return [...text.matchAll(/(?:from|import\()\s*"([^"]+)"/g)].flatMap(([, name = ""]) => {
    const path = name.startsWith(".")
      ? normalize(join(dirname(file), name))
      : name.replace("@tradewind/", "");
    return KNOWN.has(path) ? [path] : [];
  });
}

/** Files in the order in which they can be read, each after what it imports; those that are left over are in circles. */
function inCircles(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const left = new Map(imports);
  for (let before = Infinity; left.size < before;) {
    before = left.size;
    for (const [file, needs] of left) if (!needs.some((each) => left.has(each))) left.delete(file);
  }
  return [...left.keys()];
}

it("can be read from the bottom up: no file needs itself through another, types included", () => {
  expect(FILES.length).toBeGreaterThan(500);
  expect(inCircles(new Map(FILES.map((file) => [file, importsOf(file)])))).toEqual([]);
});

it("finds a circle where there is one", () => {
  const circle = new Map([
    ["a", ["b"]],
    ["b", ["c"]],
    ["c", ["b"]],
    ["d", []],
  ]);
  expect(inCircles(circle)).toEqual(["a", "b", "c"]);
});
