import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..", "..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

interface Locked {
  readonly version: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
}
const { packages } = JSON.parse(read("package-lock.json")) as { packages: Record<string, Locked> };
const fromRegistry = Object.entries(packages).filter(
  ([path, { link }]) => path.includes("node_modules/") && link !== true,
);

describe("package-lock.json", () => {
  it("has a SHA-512 for every package from the registry, so that npm ci takes no other bytes", () => {
    expect(fromRegistry.length).toBeGreaterThan(100);
    const without = fromRegistry.filter(
      ([, { integrity }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ""),
    );
    expect(without.map(([path]) => path)).toEqual([]);
  });

  it("names no host, so that every registry and mirror can serve it", () => {
    expect(read(".npmrc")).toMatch(/^omit-lockfile-registry-resolved=true$/m);
    expect(fromRegistry.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual(
      [],
    );
  });

  it("has one copy of undici, the client behind every call", () => {
    expect(fromRegistry.map(([path]) => path).filter((path) => path.endsWith("/undici"))).toEqual([
      "node_modules/undici",
    ]);
  });

  it("lets no package run a script at install but the one that brings Node.js", () => {
    expect((JSON.parse(read("package.json")) as { allowScripts: object }).allowScripts).toEqual({
      node: true,
    });
  });
});
