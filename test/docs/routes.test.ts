import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { OPENAPI_PATH } from "@tradewind/core/net/openapi.ts";
import { DESCRIBED as AGENT } from "@tradewind/agent/run/described.ts";
import { DESCRIBED as SCALER } from "@tradewind/exporter/serve/api/described.ts";
import { DESCRIBED as PREDICTOR } from "@tradewind/predictor/api/described.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const pages = globSync(
  ["*.md", "docs/*.md", "charts/tradewind/README.md", "examples/**/*.md", "docker/*.md"],
  {
    cwd: ROOT,
  },
).filter((file) => file !== "CHANGELOG.md");

/** Ports of other protocols, which have descriptions of their own: OTLP/HTTP, and the Kubernetes and model servers that are called. */
const OF_OTHERS = [/^\/v1\/(traces|metrics|logs)$/, /^\/v1\/chat\/completions$/, /^\/v1\/models$/];

/** `/v1/decisions/ID`, `/v1/decisions/{id}` and `/v1/decisions/:id` are one route. */
const plain = (path: string): string =>
  path
    .replace(/[.,:;]+$/, "")
    .split("/")
    .map((part) => (/^(\{.{1,40}\}|:.{1,40}|[A-Z]{2,10})$/.test(part) ? "*" : part))
    .join("/");

const described = new Set(
  [AGENT, SCALER, PREDICTOR].flatMap(({ routes }) => routes.map(({ path }) => plain(path))),
).add(OPENAPI_PATH);

const ROUTE = /(?<![\w.-])\/(?:v1\/[\w/{}:-]{1,80}|openapi\.json|healthz|readyz)/g;
const documented = pages.flatMap((page) =>
  [...readFileSync(join(ROOT, page), "utf8").matchAll(ROUTE)].map(([path]) => ({ page, path: plain(path) })),
);

describe("routes in the documentation", () => {
  it("are all in /openapi.json of one of the processes", () => {
    expect(documented.length).toBeGreaterThan(50);
    const unknown = documented.filter(
      ({ path }) => !described.has(path) && !OF_OTHERS.some((pattern) => pattern.test(path)),
    );
    expect(unknown).toEqual([]);
  });

  it("are all that /openapi.json has", () => {
    const said = new Set(documented.map(({ path }) => path));
    expect([...described].filter((path) => path.startsWith("/v1/") && !said.has(path))).toEqual([]);
  });
});
