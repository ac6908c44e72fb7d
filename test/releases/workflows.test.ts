import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";

const WORKFLOWS = join(import.meta.dirname, "..", "..", ".github", "workflows");

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, { readonly permissions?: Readonly<Record<string, string>> }>>;
}

it.each(readdirSync(WORKFLOWS))("%s names every action by commit, with its version beside it", (name) => {
  const used = readFileSync(join(WORKFLOWS, name), "utf8")
    .split("\n")
    .filter((line) => line.includes("uses: ") && !line.includes("uses: ./"));
  expect(used.length).toBeGreaterThan(0);
  expect(used.filter((line) => !/uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
});

it("no job of the release that can sign or push can write to the repository", () => {
  const { jobs, permissions } = parse(readFileSync(join(WORKFLOWS, "release.yml"), "utf8")) as Workflow;
  expect(permissions).toEqual({});
  for (const { permissions: own = {} } of Object.values(jobs)) {
    const signs = own["id-token"] === "write" || own["packages"] === "write";
    expect(signs && own["contents"] === "write").toBe(false);
  }
});
