import { copyFile, mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parse } from "yaml";
import { installed } from "../../installed.ts";
import { jsonPatch } from "../../kubernetes/json-patch.ts";
import type { JsonPatchOperation } from "../../kubernetes/json-patch.ts";
import {
  builtNodePrograms,
  builtPrograms,
  cacheFolder,
  DEFINITIONS,
  MANIFESTS,
  NODE_PROGRAMS,
  nodeProgramsFolder,
  PROGRAMS,
  programsFolder,
  VERSIONS,
  VPA_DEFINITIONS,
} from "../programs.ts";
import type { NodeProgram, Program } from "../programs.ts";
import {
  bindAdapterToLoopback,
  keepTriggers,
  linkerFlags,
  MAINS,
  moduleEdits,
  NODE_EDITS,
  NODE_MAINS,
  PACKAGES,
  SCALER_FILES,
  SHARED_SCALER_FILE,
  VPA_MODULE,
} from "./go-module.ts";
import { Progress } from "./progress.ts";
import { run } from "./run.ts";

type Report = (line: string) => void;

/** Settings of Go that do not depend on the user's own. The toolchain on this machine is used, none is downloaded. */
export const GO_ENV = {
  CGO_ENABLED: "0",
  GOFLAGS: "-mod=mod -buildvcs=false",
  GOTOOLCHAIN: "local",
  GOWORK: "off",
};

/** A set of programs that are compiled together into a folder. */
interface Target {
  readonly programs: readonly (Program | NodeProgram)[];
  readonly folder: string;
  /** Further programs of the module, and what it requires for them. */
  readonly mains: Readonly<Record<string, string>>;
  readonly edits: readonly string[];
  /** Keeps what else of the sources is needed. */
  readonly keep: (source: string, made: string, go: string) => Promise<unknown>;
}

/**
 * Compiles the control plane and KEDA from Go modules, unless that was done before. A build that was ended continues
 * from Go's cache. @returns the folder with the programs @throws Error without Go, or with what Go said
 */
export async function buildPrograms(report: Report): Promise<string> {
  const keep = async (source: string, made: string): Promise<void> =>
    writeFile(join(made, DEFINITIONS), JSON.stringify(await definitions(source)));
  return (
    builtPrograms() ??
    build({ programs: PROGRAMS, folder: programsFolder(), mains: {}, edits: [], keep }, report)
  );
}

/** Compiles what a node runs in the same way. */
export async function buildNodePrograms(report: Report): Promise<string> {
  const keep = async (source: string, made: string, go: string): Promise<void> => {
    await run("cp", ["-r", join(source, "config"), join(made, MANIFESTS)], {});
    const vpa = await run(go, ["list", "-m", "-f", "{{.Dir}}", VPA_MODULE], { cwd: source, env: GO_ENV });
    await copyFile(join(vpa.trim(), "deploy", "vpa-v1-crd-gen.yaml"), join(made, VPA_DEFINITIONS));
  };
  const target = {
    programs: NODE_PROGRAMS,
    folder: nodeProgramsFolder(),
    mains: NODE_MAINS,
    edits: NODE_EDITS,
  };
  return builtNodePrograms() ?? build({ ...target, keep }, report);
}

async function build(target: Target, report: Report): Promise<string> {
  const go = installed("go", ["/usr/local/go/bin"]);
  if (go === undefined) throw new Error("a cluster's programs are built with Go, which is not installed");
  const startedMs = performance.now();
  await mkdir(cacheFolder(), { recursive: true });
  const work = await mkdtemp(join(cacheFolder(), "build-"));
  try {
    const source = join(work, "source");
    const made = join(work, "programs");
    await mkdir(made);
    report("loading the sources of KEDA, Kubernetes and etcd");
    await writeModule(go, source, target);
    await compile(go, source, made, target.programs, report);
    await target.keep(source, made, go);
    await rm(target.folder, { recursive: true, force: true });
    await rename(made, target.folder);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  report(`built in ${Math.round((performance.now() - startedMs) / 1_000)} s: ${target.folder}`);
  return target.folder;
}

/** One module for all programs, so that what they share is compiled once: KEDA's own, with Kubernetes and etcd added. */
async function writeModule(go: string, source: string, { edits, mains }: Target): Promise<void> {
  const answer = await run(
    go,
    ["mod", "download", "-json", `github.com/kedacore/keda/v2@v${VERSIONS.keda}`],
    {
      cwd: tmpdir(),
      env: GO_ENV,
    },
  );
  const { Dir: keda } = JSON.parse(answer) as { Dir: string };
  // Files of Go's module cache may not be written, nor may copies of them.
  await run("cp", ["-r", "--no-preserve=mode", keda, source], {});
  const scalers = join(source, "pkg", "scalers");
  for (const entry of await readdir(scalers, { withFileTypes: true })) {
    if (entry.isFile() && !SCALER_FILES.includes(entry.name)) await rm(join(scalers, entry.name));
  }
  await writeFile(join(scalers, "shared.go"), SHARED_SCALER_FILE);
  await change(join(source, "pkg", "scaling", "scalers_builder.go"), keepTriggers);
  await change(join(source, "cmd", "adapter", "main.go"), bindAdapterToLoopback);
  for (const [name, main] of Object.entries({ ...MAINS, ...mains })) {
    await mkdir(join(source, "cmd", name), { recursive: true });
    await writeFile(join(source, "cmd", name, "main.go"), main);
  }
  await run(go, ["mod", "edit", ...moduleEdits(), ...edits], { cwd: source, env: GO_ENV });
}

async function change(file: string, edit: (text: string) => string): Promise<void> {
  await writeFile(file, edit(await readFile(file, "utf8")));
}

async function compile(
  go: string,
  source: string,
  into: string,
  programs: Target["programs"],
  report: Report,
): Promise<void> {
  const packages = programs.map((name) => PACKAGES[name]);
  const options = ["-trimpath", `-ldflags=${linkerFlags()}`];
  // Loads the modules that go.mod has come to need, and finds what Go's cache lacks.
  const list = await run(
    go,
    ["list", "-deps", ...options, "-f", "{{if .Stale}}{{.ImportPath}}{{end}}", ...packages],
    { cwd: source, env: GO_ENV },
  );
  const stale = list.split("\n").filter(Boolean);
  report(`compiling ${stale.length} packages`);
  const progress = new Progress(stale.length, report);
  const output = join(into, "new");
  await mkdir(output);
  await run(go, ["build", "-v", ...options, "-o", `${output}/`, ...packages], {
    cwd: source,
    env: GO_ENV,
    onErrorLine: (line) => progress.line(line),
  });
  for (const name of programs) await rename(join(output, basename(PACKAGES[name])), join(into, name));
  await rm(output, { recursive: true });
}

/** KEDA's definitions as its release has them: generated ones with KEDA's own patches. */
async function definitions(source: string): Promise<unknown[]> {
  const folder = join(source, "config", "crd");
  const read = async (...path: string[]): Promise<unknown> =>
    parse(await readFile(join(folder, ...path), "utf8")) as unknown;
  const patches = new Map([
    ["keda.sh_scaledobjects.yaml", "scaledobject_patch.yaml"],
    ["keda.sh_scaledjobs.yaml", "scaledjob_patch.yaml"],
  ]);
  const files = (await readdir(join(folder, "bases"))).sort();
  return Promise.all(
    files.map(async (file) => {
      const definition = await read("bases", file);
      const patch = patches.get(basename(file));
      if (patch === undefined) return definition;
      return jsonPatch(definition, (await read("patches", patch)) as JsonPatchOperation[]);
    }),
  );
}
