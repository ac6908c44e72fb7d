import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..");

/** Folders that are built, installed or judged by other rules. */
const LEFT_OUT = new Set(["node_modules", "dist", "coverage", "test", "bench"]);

/** Source files in a folder and those in it, by their path from the root. */
function sourcesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    if (entry.name.startsWith(".") || LEFT_OUT.has(entry.name)) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sourcesIn(path);
    return /\.[jt]s$/.test(entry.name) ? [path] : [];
  });
}

const FILES = sourcesIn("");
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
