import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { isWorkloadKind, nothingFound, take } from "./found.ts";
import type { Found } from "./found.ts";
import { KUSTOMIZATION, patchesOf } from "./kustomization.ts";

const MAX_FILE_BYTES = 16 * 2 ** 20;
const MAX_FILES = 2_000;
const MANIFEST = /\.(?:ya?ml|json)$|(?:^|\/)Kustomization$/;

const Manifest = z.looseObject({
  apiVersion: z.string().nullish(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string().nullish(), namespace: z.string().nullish() }).nullish(),
  items: z.array(z.unknown()).nullish(),
});

export interface ManifestReading {
  readonly found: Found;
  /** The one that was looked at. */
  readonly namespace: string;
  readonly notes: readonly string[];
}

/**
 * Reads YAML or JSON manifests as kubectl does: files, folders with all that is in them, or `-` for what comes on standard
 * input. Of two objects of one kind and name the last counts. What cannot be read is a note, and the rest is read all the same.
 * @param namespace to look at, and that of objects that name none; objects of others are passed over. Undefined: the only one that workloads
 *   name, else `default`
 * @throws TradewindError `invalid-manifest` for a path that cannot be read
 */
export async function readManifests(
  paths: readonly string[],
  namespace: string | undefined,
  standardInput: () => Promise<string>,
): Promise<ManifestReading> {
  const reading = new Reading(namespace);
  for (const path of paths) {
    if (path === "-") reading.addFile(await standardInput(), path);
    else await addAll(reading, await filesIn(path));
  }
  return reading.result();
}

/** Reads files but for those that a kustomization merges into others: alone they are parts of objects. */
async function addAll(reading: Reading, files: readonly string[]): Promise<void> {
  const merged = new Set<string>();
  for (const file of files) {
    if (!KUSTOMIZATION.test(basename(file))) continue;
    merged.add(file);
    reading.addKustomization(dirname(file));
    for (const path of patchesOf(valuesOf(await readText(file)))) merged.add(join(dirname(file), path));
  }
  for (const file of files) if (!merged.has(file)) reading.addFile(await readText(file), file);
}

/** The values of a file's documents; nothing of a text that cannot be read. */
function valuesOf(text: string): unknown[] {
  try {
    return documentsOf(text).flatMap(({ source }) => valuesIn(source));
  } catch {
    return [];
  }
}

interface Declared {
  readonly file: string;
  readonly kind: string;
  readonly isWorkload: boolean;
  /** Group, kind and name. */
  readonly key: string;
  /** As the object names it. */
  readonly namespace: string | undefined;
  readonly manifest: z.infer<typeof Manifest>;
  readonly mayBeTemplate: boolean;
}

const DEFAULT = "default";

class Reading {
  private readonly asked: string | undefined;
  private readonly declared: Declared[] = [];
  private readonly notes: string[] = [];
  private readonly templates = new Set<string>();

  constructor(asked: string | undefined) {
    this.asked = asked;
  }

  /** Overlays of one base change each other's objects, so all that is certain is what lies in the files. */
  addKustomization(folder: string): void {
    this.notes.push(
      `${folder}: holds a kustomization, whose patches and generators are passed over: give what 'kubectl kustomize ${folder}' writes to --manifests -`,
    );
  }

  addFile(text: string, file: string): void {
    for (const { line, source } of documentsOf(text)) this.addDocument(source, file, line);
  }

  private addDocument(source: string, file: string, line: number): void {
    try {
      for (const value of valuesIn(source)) {
        if (value !== null && value !== undefined) this.addValue(value, file, source.includes("{{"));
      }
    } catch (error) {
      if (source.includes("{{")) this.templates.add(file);
      else {
        const what = describeError(error).split("\n", 1)[0]?.slice(0, 300) ?? "";
        this.notes.push(`${file}: the document at line ${line} cannot be read and is passed over: ${what}`);
      }
    }
  }

  /** @param mayBeTemplate braces of a Helm template are a map to YAML, so the object only looks odd */
  private addValue(value: unknown, file: string, mayBeTemplate: boolean, kindOfItem?: string): void {
    const manifest = Manifest.safeParse(
      kindOfItem !== undefined && isRecord(value) ? { kind: kindOfItem, ...value } : value,
    );
    if (!manifest.success) {
      if (mayBeTemplate) this.templates.add(file);
      else this.notes.push(`${file}: something that is no Kubernetes object is passed over`);
      return;
    }
    const { apiVersion, items, kind, metadata } = manifest.data;
    if (kind.endsWith("List") && Array.isArray(items)) {
      const kindOfItems = kind === "List" ? undefined : kind.slice(0, -"List".length);
      for (const item of items) this.addValue(item, file, mayBeTemplate, kindOfItems);
      return;
    }
    this.declared.push({
      file,
      kind,
      isWorkload: isWorkloadKind(kind, apiVersion ?? ""),
      key: `${groupOf(apiVersion)}/${kind}/${metadata?.name ?? ""}`,
      namespace: metadata?.namespace ?? undefined,
      manifest: manifest.data,
      mayBeTemplate,
    });
  }

  private namespaceToLookAt(): string {
    const named = new Set(
      this.declared.flatMap(({ isWorkload, namespace = DEFAULT }) => (isWorkload ? namespace : [])),
    );
    const [only = DEFAULT] = named;
    return this.asked ?? (named.size === 1 ? only : DEFAULT);
  }

  result(): ManifestReading {
    const found = nothingFound();
    const own = this.namespaceToLookAt();
    const isOwn = ({ namespace = own }: Declared): boolean => namespace === own;
    // Of two of one kind and name the last counts, in the place of the first.
    const byKey = new Map(this.declared.filter(isOwn).map((each) => [each.key, each]));
    for (const { file, isWorkload, key, kind, manifest, mayBeTemplate } of byKey.values()) {
      const metadata = { uid: key, ...manifest.metadata, namespace: own };
      try {
        take(found, kind, { ...manifest, metadata });
      } catch (error) {
        if (isWorkload) found.unread.push(metadata.name ?? "");
        if (mayBeTemplate) {
          this.templates.add(file);
          continue;
        }
        const what = `${kind} '${manifest.metadata?.name ?? ""}'`;
        this.notes.push(`${file}: ${what} is left out: ${describeError(error).slice(0, 200)}`);
      }
    }
    const templates = [...this.templates].map(
      (file) =>
        `${file}: holds a Helm template, which is passed over: give what 'helm template' writes to --manifests -`,
    );
    const others = this.declared.filter((each) => each.isWorkload && !isOwn(each));
    const elsewhere = [...Map.groupBy(others, ({ namespace = "" }) => namespace)].map(
      ([namespace, { length: count }]) =>
        `${count === 1 ? "1 workload" : `${count} workloads`} of namespace '${namespace}' ${count === 1 ? "is" : "are"} passed over: --namespace ${namespace} looks there`,
    );
    return { found, namespace: own, notes: [...templates, ...this.notes, ...elsewhere] };
  }
}

const groupOf = (apiVersion: string | null | undefined): string =>
  apiVersion?.includes("/") === true ? (apiVersion.split("/", 1)[0] ?? "") : "";

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

interface SourceDocument {
  /** Of its first line in the file, from 1. */
  readonly line: number;
  readonly source: string;
}

/** The documents of a file, as kubectl takes them apart: by lines that begin with `---`. */
function documentsOf(text: string): SourceDocument[] {
  const documents: SourceDocument[] = [];
  let lines: string[] = [];
  let first = 1;
  const end = (next: number): void => {
    if (lines.some((line) => hasContent(line))) documents.push({ line: first, source: lines.join("\n") });
    lines = [];
    first = next;
  };
  text
    .replace(/^\uFEFF/, "")
    .split("\n")
    .forEach((line, index) => {
      // White space at the end of a line, such as a tab or the half of a CRLF, says nothing; strict readers trip over it.
      const trimmed = line.trimEnd();
      if (trimmed !== "---" && !trimmed.startsWith("--- ")) {
        lines.push(trimmed);
        return;
      }
      end(index + 2);
      const rest = trimmed.slice(4);
      if (hasContent(rest)) {
        first = index + 1;
        lines.push(rest);
      }
    });
  end(1);
  return documents;
}

const hasContent = (line: string): boolean => {
  const trimmed = line.trimStart();
  return trimmed !== "" && trimmed !== "..." && !trimmed.startsWith("#") && !trimmed.startsWith("%");
};

/** The values of one document; JSON is read as JSON, since YAML refuses its tabs. Throws what the readers throw. */
function valuesIn(source: string): unknown[] {
  if (source.trimStart().startsWith("{")) {
    try {
      return jsonValues(source);
    } catch {
      // YAML's flow style begins with a brace too.
    }
  }
  return parseAllDocuments(source, { merge: true, uniqueKeys: false, logLevel: "silent" }).map(
    (document): unknown => {
      const [error] = "errors" in document ? document.errors : [];
      if (error !== undefined) throw error;
      const value: unknown = document.toJS({ maxAliasCount: 100 });
      return value;
    },
  );
}

/** Values one after the other, as `kubectl get` writes several; each begins with a line of its own. Throws what JSON.parse throws. */
function jsonValues(source: string): unknown[] {
  const values: unknown[] = [];
  let text = "";
  for (const line of source.split("\n")) {
    if (line.startsWith("{") && isWhole(text)) {
      values.push(JSON.parse(text));
      text = "";
    }
    text += `${line}\n`;
  }
  return [...values, JSON.parse(text) as unknown];
}

/** Whether a value ends here: its brace stands where its line begins, or all of it in one line. */
const isWhole = (text: string): boolean => text.endsWith("\n}\n") || /^{[^\n]*}\n$/.test(text);

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

/** The text of a file; `>` of PowerShell writes UTF-16, which begins with its byte order mark. */
async function readText(file: string): Promise<string> {
  try {
    if ((await stat(file)).size > MAX_FILE_BYTES) throw new Error(`larger than ${MAX_FILE_BYTES} bytes`);
    const bytes = await readFile(file);
    return new TextDecoder(bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : "utf-8").decode(bytes);
  } catch (error) {
    throw new TradewindError("invalid-manifest", `cannot read ${file}`, { cause: error });
  }
}
