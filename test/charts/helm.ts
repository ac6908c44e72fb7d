import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { installed } from "../installed.ts";

const root = join(import.meta.dirname, "..", "..");
export const CHART = join(root, "charts", "tradewind");
export const GOLDEN = join(root, "test", "golden", "charts");
/** What a Helm that was built by the Go toolchain takes for the cluster's version otherwise is far too old. */
export const KUBERNETES = "1.34.1";

/** The real Helm: on PATH, or where `go install` puts it. */
export const helm = installed(
  "helm",
  [process.env["GOBIN"] ?? "", join(homedir(), "go", "bin")].filter(Boolean),
);

/** Names of the value files in `ci/`, without their ending. */
export const CASES = readdirSync(join(CHART, "ci")).map((file) => file.replace(/-values\.yaml$/, ""));

export const valuesOf = (name: string): string => join(CHART, "ci", `${name}-values.yaml`);

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Record<string, string>;
  };
}

interface Answer {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs Helm; a failure is an answer too. */
export async function runHelm(...args: readonly string[]): Promise<Answer> {
  try {
    const { stdout, stderr } = await promisify(execFile)(helm ?? "helm", [...args], {
      maxBuffer: 64 * 2 ** 20,
    });
    return { ok: true, stdout, stderr };
  } catch (error) {
    const { stdout, stderr } = error as Answer;
    return { ok: false, stdout, stderr };
  }
}

/** Renders the chart as release `tradewind` in namespace `tradewind`. */
export const template = (...args: readonly string[]): Promise<Answer> => templateAs("tradewind", ...args);

/** Renders the chart as this release in namespace `tradewind`. */
export function templateAs(release: string, ...args: readonly string[]): Promise<Answer> {
  const version = args.includes("--kube-version") ? [] : ["--kube-version", KUBERNETES];
  return runHelm("template", release, CHART, "--namespace", "tradewind", ...version, ...args);
}

export function objectsOf(yaml: string): KubernetesObject[] {
  return parseAllDocuments(yaml)
    .map((document) => document.toJS() as KubernetesObject | null)
    .filter((object) => object !== null);
}

/** The objects of one of the cases. @throws Error with what Helm said */
export async function render(name: string, ...args: readonly string[]): Promise<KubernetesObject[]> {
  const { ok, stdout, stderr } = await template("--values", valuesOf(name), ...args);
  if (!ok) throw new Error(stderr);
  return objectsOf(stdout);
}

export function find(objects: readonly KubernetesObject[], kind: string, name: string): KubernetesObject {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  if (found === undefined) throw new Error(`no ${kind} ${name} was rendered`);
  return found;
}

/** What stands at a path inside an object; undefined where the path ends early. */
export function at(object: unknown, ...path: readonly (string | number)[]): unknown {
  let value = object;
  for (const key of path) value = (value as Record<string | number, unknown> | undefined)?.[key];
  return value;
}
