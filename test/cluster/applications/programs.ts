import { createHash } from "node:crypto";
import { accessSync, constants } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { installed } from "../../installed.ts";
import { GO_ENV } from "../build/build.ts";
import { run } from "../build/run.ts";
import { cacheFolder } from "../programs.ts";

/** A program that Go makes of modules, by its name in the cache. */
export interface GoProgram {
  readonly name: string;
  readonly version: string;
  /** What `go install` takes, without the version. */
  readonly package: string;
  /** In a module of its own, as `module@version`: `go install` refuses a package whose module has `replace` directives. */
  readonly main?: { readonly requires: readonly string[]; readonly text: string };
}

/** Sends requests at an even rate, whether earlier ones were answered or not. */
export const VEGETA: GoProgram = {
  name: "vegeta",
  version: "v12.13.0",
  package: "github.com/tsenart/vegeta/v12",
};
export const HELM: GoProgram = { name: "helm", version: "v3.19.0", package: "helm.sh/helm/v3/cmd/helm" };

/** Name, version and a digest of all that it is made of, so that a cache gives nothing that was made of something else. */
export function cachedName(made: { readonly name: string; readonly version: string }): string {
  const digest = createHash("sha256").update(JSON.stringify(made)).digest("hex");
  return `${made.name}-${made.version}-${digest.slice(0, 8)}`;
}

/** Compiles a program unless that was done before. @returns its file @throws Error without Go, or with what Go said */
export async function buildGoProgram(program: GoProgram, report: (line: string) => void): Promise<string> {
  const { main, name, version } = program;
  const folder = join(cacheFolder(), "applications", cachedName(program));
  const file = join(folder, name);
  if (isExecutable(file)) return file;
  const go = installed("go", ["/usr/local/go/bin"]);
  if (go === undefined) throw new Error(`${name} is built with Go, which is not installed`);
  await mkdir(join(folder, ".."), { recursive: true });
  const work = await mkdtemp(`${folder}-`);
  report(`compiling ${name} ${version}`);
  const startedMs = performance.now();
  const env = { ...GO_ENV, GOBIN: work };
  const options = ["-trimpath", "-ldflags=-s -w"];
  try {
    if (main === undefined) {
      const spec = `${program.package}@${version}`;
      await run(go, ["install", ...options, spec], { cwd: work, env });
      await rename(join(work, installedName(program.package)), join(work, name));
    } else {
      await writeFile(join(work, "main.go"), main.text);
      await run(go, ["mod", "init", name], { cwd: work, env });
      await run(go, ["mod", "edit", ...main.requires.map((each) => `-require=${each}`)], { cwd: work, env });
      await run(go, ["build", ...options, "-o", name, "."], { cwd: work, env });
    }
    await rm(folder, { recursive: true, force: true });
    await rename(work, folder);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  report(`compiled ${name} in ${Math.round((performance.now() - startedMs) / 1_000)} s`);
  return file;
}

/** Go names a program after the last part of its package that is not a version. */
const installedName = (name: string): string => basename(name.replace(/\/v\d+$/, ""));

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
