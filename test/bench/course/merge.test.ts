import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readParts } from "../../../bench/course/main.ts";

const run = (seed: number) => ({ plant: "steady", policy: "hpa-cpu", actuators: "replicas", seed });

describe("parts of one course", () => {
  let folder = "";
  const file = (name: string, content: unknown): string => {
    const path = join(folder, name);
    writeFileSync(path, JSON.stringify(content));
    return path;
  };
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "tradewind-parts-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("are joined in the order of the files", () => {
    const parts = [file("a.json", { runs: [run(1), run(2)] }), file("b.json", { runs: [run(3)] })];
    expect(readParts(parts.join(",")).map(({ seed }) => seed)).toEqual([1, 2, 3]);
  });

  it("are refused when two of them have the same run", () => {
    const parts = [file("c.json", { runs: [run(1)] }), file("d.json", { runs: [run(2), run(1)] })];
    expect(() => readParts(parts.join(","))).toThrow("steady by hpa-cpu with replicas, seed 1");
  });

  it("are refused without runs", () => {
    expect(() => readParts(file("e.json", {}))).toThrow("no 'runs'");
  });
});
