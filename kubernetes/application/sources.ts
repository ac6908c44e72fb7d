import { stat } from "node:fs/promises";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { applicationPlace } from "./resource.ts";
import type { ApplicationPlace } from "./resource.ts";

/** Where configurations of applications are. */
export type ApplicationSource =
  | { readonly kind: "file"; readonly path: string }
  /** Every `.yaml`, `.yml` and `.json` file in it. */
  | { readonly kind: "directory"; readonly path: string }
  | ({ readonly kind: "resource" } & ApplicationPlace)
  /** Every Application of a namespace, or of all where none is named. */
  | { readonly kind: "namespace"; readonly namespace: string | undefined };

const EVERY = /^crd:(?<namespace>[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?|\*)\/\*$/;

/**
 * Reads what `--config` is given: files, directories, `crd:namespace/name`, `crd:namespace/*` and `crd:*` + `/*`.
 * @throws TradewindError `invalid-input` when one begins like a resource and is none
 */
export async function applicationSources(given: readonly string[]): Promise<ApplicationSource[]> {
  return Promise.all(given.map(async (each) => applicationSource(each)));
}

async function applicationSource(text: string): Promise<ApplicationSource> {
  const namespace = EVERY.exec(text)?.groups?.["namespace"];
  if (namespace !== undefined)
    return { kind: "namespace", namespace: namespace === "*" ? undefined : namespace };
  const place = applicationPlace(text);
  if (place !== undefined) return { kind: "resource", ...place };
  const isDirectory = await stat(text).then(
    (found) => found.isDirectory(),
    () => false,
  );
  return isDirectory ? { kind: "directory", path: text } : { kind: "file", path: text };
}

/** Whether more than one application may come of them: a single file or resource is the one application of its process. */
export function maySeveral(sources: readonly ApplicationSource[]): boolean {
  return sources.length > 1 || sources.some(({ kind }) => kind === "directory" || kind === "namespace");
}

/** Namespaces in which Applications are looked for; an empty list: all. Undefined where they are in files only. */
export function resourceNamespaces(sources: readonly ApplicationSource[]): string[] | undefined {
  const found = sources.flatMap((source) =>
    source.kind === "resource" || source.kind === "namespace" ? [source.namespace] : [],
  );
  if (found.length === 0) return undefined;
  const named = found.filter((namespace) => namespace !== undefined);
  return named.length < found.length ? [] : [...new Set(named)];
}

/** The files and the directories among them. */
export function pathsOf(sources: readonly ApplicationSource[]): {
  readonly files: readonly string[];
  readonly directories: readonly string[];
} {
  const paths = (kind: "file" | "directory"): string[] =>
    sources.flatMap((source) => (source.kind === kind ? [source.path] : []));
  return { files: paths("file"), directories: paths("directory") };
}

/** @throws TradewindError `invalid-config` for one that needs a cluster, where there is none */
export function requireCluster<Cluster>(cluster: Cluster | undefined): Cluster {
  if (cluster !== undefined) return cluster;
  throw new TradewindError("invalid-config", "crd:… needs a cluster: give --kubeconfig, or run in a pod");
}
