/** JSON patch (RFC 6902: add, replace, remove, test), merge patch (RFC 7386) and a strategic merge by `name`. */
export interface JsonPatchOperation {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

type Json = Record<string, unknown>;

export class PatchProblem extends Error {}

export const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function jsonPatch(target: unknown, operations: readonly JsonPatchOperation[]): unknown {
  const root: Json = { document: structuredClone(target) };
  for (const { op, path, value } of operations) {
    const keys = ["document", ...path.split("/").slice(1)].map((key) =>
      key.replaceAll("~1", "/").replaceAll("~0", "~"),
    );
    const last = keys.pop()!;
    let parent: unknown = root;
    for (const key of keys) parent = (parent as Json | undefined)?.[key];
    if (!isObject(parent) && !Array.isArray(parent)) throw new PatchProblem(`no parent of ${path}`);
    apply(parent as Json | unknown[], last, op, value, path);
  }
  return root["document"];
}

function apply(parent: Json | unknown[], key: string, op: string, value: unknown, path: string): void {
  const holder = parent as Json;
  if (op !== "add" && !(key in parent)) throw new PatchProblem(`there is no ${path}`);
  if (op === "test") {
    if (JSON.stringify(holder[key]) !== JSON.stringify(value))
      throw new PatchProblem(`test of ${path} failed`);
  } else if (op === "remove") {
    if (Array.isArray(parent)) parent.splice(Number(key), 1);
    else delete holder[key];
  } else if (Array.isArray(parent) && op === "add") {
    parent.splice(key === "-" ? parent.length : Number(key), 0, value);
  } else holder[key] = structuredClone(value);
}

export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return structuredClone(patch);
  const result: Json = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}

/** Lists whose items have names are merged by name, as the API does for containers; other lists are replaced. */
export function strategicPatch(target: unknown, patch: unknown): unknown {
  if (
    Array.isArray(patch) &&
    Array.isArray(target) &&
    patch.every((each) => isObject(each) && "name" in each)
  ) {
    const result = structuredClone(target) as Json[];
    for (const item of patch as Json[]) {
      const index = result.findIndex((each) => each["name"] === item["name"]);
      if (index === -1) result.push(item);
      else result[index] = strategicPatch(result[index], item) as Json;
    }
    return result;
  }
  if (!isObject(patch)) return structuredClone(patch);
  const result: Json = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = strategicPatch(result[key], value);
  }
  return result;
}

/** Paths of all leaves; a list is one leaf. */
export function leavesOf(value: unknown, path = ""): string[] {
  if (!isObject(value)) return [path];
  return Object.entries(value).flatMap(([key, part]) => leavesOf(part, `${path}/${key}`));
}

export function valueAt(object: unknown, path: string): unknown {
  let value = object;
  for (const key of path.split("/").slice(1)) value = (value as Json | undefined)?.[key];
  return value;
}

export function removeAt(object: Json, path: string): void {
  const keys = path.split("/").slice(1);
  const last = keys.pop()!;
  let parent: unknown = object;
  for (const key of keys) parent = (parent as Json | undefined)?.[key];
  if (isObject(parent)) delete parent[last];
}
