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

const IMPORTS: ReadonlyMap<string, readonly string[]> = new Map(FILES.map((file) => [file, importsOf(file)]));

/** What is left after everything was taken away that needs nothing of the rest: circles, and what stands on them. */
function inCircles(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const left = new Map(imports);
  for (let sizeBefore = Infinity; left.size < sizeBefore;) {
    sizeBefore = left.size;
    for (const [name, needs] of left) if (!needs.some((need) => left.has(need))) left.delete(name);
  }
  return [...left.keys()];
}

/** Rooms (folders) and loose files that stand in a folder, each with the neighbours that its files import. */
function neighboursIn(folder: string): Map<string, string[]> {
  const placeOf = (file: string): string | undefined =>
    file.startsWith(`${folder}/`) ? file.slice(folder.length + 1).split("/")[0] : undefined;
  const neighbours = new Map<string, Set<string>>();
  for (const [file, needs] of IMPORTS) {
    const place = placeOf(file);
    if (place === undefined) continue;
    const found = neighbours.get(place) ?? new Set();
    neighbours.set(place, found);
    for (const need of needs) {
      const other = placeOf(need);
      if (other !== undefined && other !== place) found.add(other);
    }
  }
  return new Map([...neighbours].map(([place, found]) => [place, [...found]]));
}

/** All folders with sources, from the root down. */
const ROOMS = [
  ...new Set(
    FILES.flatMap((file) => {
      const parts = file.split("/");
      return parts.slice(1).map((_, depth) => parts.slice(0, depth + 1).join("/"));
    }),
  ),
];

const MOST_ROOMS_AT_A_LEVEL = 14;

it("can be read from the bottom up: no file needs itself through another, types included", () => {
  expect(FILES.length).toBeGreaterThan(500);
  expect(inCircles(IMPORTS)).toEqual([]);
});

it("can be read a room at a time: no room needs its neighbour and is needed by it", () => {
  expect(ROOMS.length).toBeGreaterThan(50);
  const circles = ROOMS.map((room) => [room, inCircles(neighboursIn(room))] as const);
  expect(circles.filter(([, places]) => places.length > 0)).toEqual([]);
});

it(`has at most ${MOST_ROOMS_AT_A_LEVEL} rooms at a level`, () => {
  const roomsIn = (folder: string): number => ROOMS.filter((room) => dirname(room) === folder).length;
  expect(ROOMS.filter((room) => roomsIn(room) > MOST_ROOMS_AT_A_LEVEL)).toEqual([]);
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
