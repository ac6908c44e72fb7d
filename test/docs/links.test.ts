import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..");
/** A page of another repository, of opentelemetry-proto. */
const FOREIGN = "docs/specification.md";
const LONGEST_PATH_CHARACTERS = 200;
const pages = ["*.md", "charts/*/README.md", "docker/*.md", "docs/**/*.md", "examples/**/*.md"].flatMap(
  (pattern) => globSync(pattern, { cwd: ROOT }),
);

/** As GitHub names the anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .replace(/\[([^\]]{1,200})\]\([^)]{1,200}\)/g, "$1")
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

function anchorsOf(page: string): Set<string> {
  const text = readFileSync(page, "utf8");
  return new Set([...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) => anchorOf(heading.trim())));
}

/** What is wrong with a link of a page, or undefined. */
function fault(page: string, link: string): string | undefined {
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? join(ROOT, page) : join(ROOT, dirname(page), path);
  if (!existsSync(target)) return `${link}: no such file`;
  if (anchor === undefined || !target.endsWith(".md") || anchorsOf(target).has(anchor)) return undefined;
  return `${link}: no such heading`;
}

describe("links of the documentation lead to a file and a heading", () => {
  it.each(pages)("in %s", (page) => {
    const text = readFileSync(join(ROOT, page), "utf8");
    const links = [...text.matchAll(/\]\(([^()\s]+)\)/g)]
      .map(([, link = ""]) => link)
      .filter((link) => link.length <= LONGEST_PATH_CHARACTERS && !/^[a-z]+:/.test(link));
    expect(links.map((link) => fault(page, link)).filter((each) => each !== undefined)).toEqual([]);
  });
});

describe("pages that code names", () => {
  it("exist, with the heading that is named", () => {
    const sources = globSync(
      "{agent,bench,charts,cli,core,exporter,kubernetes,local,predictor,simulator}/**/*",
      {
        cwd: ROOT,
        exclude: (name) => name === "node_modules",
      },
    ).filter((path) => /\.(ts|js|mjs|yaml|tpl|txt|json)$/.test(path));
    const faults = sources.flatMap((path) => {
      const text = readFileSync(join(ROOT, path), "utf8");
      return [...text.matchAll(/(?<![\w/.])docs\/[\w/-]+\.(?:md|json)(?:#[\w-]+)?/g)]
        .map(([link]) => fault("README.md", link))
        .filter((each) => each !== undefined && !each.startsWith(FOREIGN))
        .map((each) => `${path}: ${each}`);
    });
    expect(faults).toEqual([]);
  });
});
