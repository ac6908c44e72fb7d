import { Document, isMap, isPair, isScalar, isSeq } from "yaml";
import type { Pair } from "yaml";

/** A comment beside (`beside`) or on the line above (`above`) the field at a path. */
export interface Remark {
  readonly path: readonly (string | number)[];
  readonly beside?: string;
  readonly above?: string;
}

/** An object as YAML with remarks, as a person would write it. */
export function yamlDocument(object: unknown, remarks: readonly Remark[]): string {
  // Kubernetes' tools read YAML 1.1, where a bare Off is no text.
  const document = new Document(object, { version: "1.1", aliasDuplicateObjects: false });
  for (const { above, beside, path } of remarks) {
    const pair = pairAt(document, path);
    if (above !== undefined && isScalar(pair.key)) {
      const parent = path.slice(0, -1);
      // The first key of a list's item or of a map takes its comment from the item itself.
      const holder: unknown = parent.length === 0 ? document.contents : document.getIn(parent, true);
      if (isMap(holder) && holder.items[0] === pair) holder.commentBefore = ` ${above}`;
      else pair.key.commentBefore = ` ${above}`;
    }
    if (beside !== undefined && isScalar(pair.value)) pair.value.comment = ` ${beside}`;
    if (beside !== undefined && !isScalar(pair.value) && isScalar(pair.key))
      pair.key.commentBefore = ` ${beside}`;
  }
  return document.toString({ lineWidth: 120, indentSeq: true });
}

function pairAt(document: Document, path: readonly (string | number)[]): Pair {
  const parent: unknown = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  const key = path.at(-1);
  if (isMap(parent)) {
    const pair = parent.items.find((each) => isScalar(each.key) && each.key.value === key);
    if (pair !== undefined && isPair(pair)) return pair;
  }
  throw new TypeError(`no field at ${path.join(".")}${isSeq(parent) ? ": a list's item has no key" : ""}`);
}
