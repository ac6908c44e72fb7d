import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { nothingFound, take } from "./found.ts";
import type { Found } from "./found.ts";

const MAX_FILE_BYTES = 16 * 2 ** 20;
const MAX_FILES = 2_000;
const MANIFEST = /\.(ya?ml|json)$/;

const Manifest = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string().optional(), namespace: z.string().optional() }).optional(),
  items: z.array(z.unknown()).optional(),
});

export interface ManifestReading {
  readonly found: Found;
  readonly notes: readonly string[];
}

/**
 * Reads YAML or JSON manifests: files, folders with all that is in them, or `-` for what comes on standard input.
 * @param namespace for objects that name none; objects of other namespaces are passed over
 * @throws TradewindError `invalid-manifest` naming the file
 */
export async function readManifests(
  paths: readonly string[],
  namespace: string,
  standardInput: () => Promise<string>,
): Promise<ManifestReading> {
  const found = nothingFound();
  const notes: string[] = [];
  for (const path of paths) {
    for (const file of path === "-" ? ["-"] : await filesIn(path)) {
      const text = file === "-" ? await standardInput() : await readText(file);
      readDocuments(text, file, namespace, found, notes);
    }
  }
  return { found, notes };
}

function readDocuments(text: string, file: string, namespace: string, found: Found, notes: string[]): void {
  for (const value of valuesIn(text, file)) {
    if (value !== null && value !== undefined) readObject(value, file, namespace, found, notes);
  }
}

/** @throws TradewindError `invalid-manifest`, also for an alias without its anchor and for what nests too deep to be read */
function valuesIn(text: string, file: string): unknown[] {
  try {
    return parseAllDocuments(text).map((document): unknown => {
      const [error] = "errors" in document ? document.errors : [];
      if (error !== undefined) throw error;
      const value: unknown = document.toJS({ maxAliasCount: 100 });
      return value;
    });
  } catch (error) {
    throw new TradewindError("invalid-manifest", `${file}: ${describeError(error).slice(0, 300)}`, {
      cause: error,
    });
  }
}

function readObject(value: unknown, file: string, namespace: string, found: Found, notes: string[]): void {
  const manifest = Manifest.safeParse(value);
  if (!manifest.success) {
    notes.push(`${file}: something that is no Kubernetes object is passed over`);
    return;
  }
  const { items, kind, metadata } = manifest.data;
  if (kind === "List") {
    for (const item of items ?? []) readObject(item, file, namespace, found, notes);
    return;
  }
  const own = metadata?.namespace ?? namespace;
  if (own !== namespace) return;
  const name = metadata?.name ?? "";
  const named = {
    ...manifest.data,
    metadata: { uid: `${kind}/${own}/${name}`, ...metadata, namespace: own },
  };
  try {
    take(found, kind, named);
  } catch (error) {
    notes.push(`${file}: ${kind} '${name}' is left out: ${describeError(error).slice(0, 200)}`);
  }
}

async function filesIn(path: string): Promise<string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const names = (await readdir(path, { recursive: true })).filter((name) => MANIFEST.test(name)).sort();
    if (names.length > MAX_FILES) throw new Error(`more than ${MAX_FILES} files`);
    return names.map((name) => join(path, name));
  } catch (error) {
    throw new TradewindError("invalid-manifest", `cannot read ${path}`, { cause: error });
  }
}

async function readText(file: string): Promise<string> {
  try {
    if ((await stat(file)).size > MAX_FILE_BYTES) throw new Error(`larger than ${MAX_FILE_BYTES} bytes`);
    return await readFile(file, "utf8");
  } catch (error) {
    throw new TradewindError("invalid-manifest", `cannot read ${file}`, { cause: error });
  }
}
