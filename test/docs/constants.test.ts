import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { declaredIn, declaredNumbers, withChange } from "../../bench/constants/declared.ts";

const page = z
  .strictObject({
    chosen: z.array(
      z.object({ name: z.string(), file: z.string(), value: z.union([z.number(), z.string()]) }),
    ),
    apart: z.array(z.strictObject({ kind: z.string(), files: z.record(z.string(), z.array(z.string())) })),
  })
  .parse(JSON.parse(readFileSync(join(import.meta.dirname, "..", "..", "docs", "constants.json"), "utf8")));
const chosen = page.chosen.map(({ file, name, value }) => ({ key: `predictor/${file} ${name}`, value }));
const others = page.apart.flatMap(({ files }) =>
  Object.entries(files).flatMap(([file, names]) => names.map((name) => `predictor/${file} ${name}`)),
);

const declared = Map.groupBy(declaredNumbers(), ({ file, name }) => `${file} ${name}`);

describe("docs/constants.json", () => {
  it("names every number of the decision and its models once", () => {
    expect([...chosen.map(({ key }) => key), ...others].toSorted()).toEqual([...declared.keys()].toSorted());
  });

  it("lists at most 60 that were chosen", () => {
    expect(chosen.length).toBeGreaterThan(40);
    expect(chosen.length).toBeLessThanOrEqual(60);
  });

  it("states the values of the code", () => {
    const isStated = ({ key, value }: (typeof chosen)[number]): boolean => {
      const [first, ...others] = declared.get(key) ?? [];
      return others.length > 0
        ? value === `${others.length + 1} numbers`
        : Math.abs(Number(value) / (first?.value ?? 0) - 1) < 1e-4;
    };
    expect(chosen.filter((each) => !isStated(each))).toEqual([]);
  });
});

describe("numbers that a source declares", () => {
  const source =
    'const SHARE = 0.25;\nexport const TABLE: number[][] = [\n  [1, 2],\n  [3, 0.5 ** 2],\n];\nconst NAME = "3";\n';
  const file = "predictor/decide/some.ts";

  it("are constants and numbers in lists, each with its place", () => {
    expect(declaredIn(file, source).map(({ name, path, value }) => [name, path, value])).toEqual([
      ["SHARE", [], 0.25],
      ["TABLE", [0, 0], 1],
      ["TABLE", [0, 1], 2],
      ["TABLE", [1, 0], 3],
      ["TABLE", [1, 1], 0.25],
    ]);
  });

  it("are changed where they are declared", () => {
    expect(withChange(source, { file, name: "SHARE", path: [], factor: 2 })).toContain(
      "const SHARE = (0.25) * 2;",
    );
    expect(withChange(source, { file, name: "TABLE", path: [1, 0], factor: 2 })).toContain(
      "];\nTABLE[1][0] *= 2;",
    );
    expect(() => withChange(source, { file, name: "NAME", path: [], factor: 2 })).not.toThrow();
    expect(() => withChange(source, { file, name: "OTHER", path: [], factor: 2 })).toThrow(RangeError);
  });
});
