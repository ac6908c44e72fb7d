import { isMap, isScalar, parseDocument } from "yaml";
import type { Node, Pair, YAMLMap } from "yaml";

/** One row for each value, in the order and with the words of values.yaml: `# --` starts a description, as in helm-docs. */
export function valuesTable(valuesYaml: string): string {
  const root = parseDocument(valuesYaml).contents as YAMLMap<Node, Node>;
  const rows = rowsOf(root, "");
  return ["| Value | Default | Meaning |", "| --- | --- | --- |", ...rows, ""].join("\n");
}

function rowsOf(map: YAMLMap<Node, Node>, prefix: string): string[] {
  return map.items.flatMap((pair, index) => {
    const path = `${prefix}${String(isScalar(pair.key) ? pair.key.value : pair.key)}`;
    // The comment before the first key of a map is kept with the map.
    const comment = pair.key.commentBefore ?? (index === 0 ? map.commentBefore : undefined);
    const meaning = describe(comment);
    const { value } = pair;
    if (isMap<Node, Node>(value) && value.items.length > 0 && value.flow !== true && meaning === "") {
      return rowsOf(value, `${path}.`);
    }
    return [`| \`${path}\` | ${cell(pair)} | ${meaning} |`];
  });
}

function cell({ value }: Pair<Node, Node>): string {
  const json = JSON.stringify(value?.toJSON() ?? null).replaceAll("|", "\\|");
  return json.length > 120 ? "see values.yaml" : `\`${json}\``;
}

/** The part of a comment behind `--`, on one line. */
function describe(comment: string | null | undefined): string {
  const text = (comment ?? "").split(/^ -- /m)[1];
  return text === undefined ? "" : text.replaceAll(/\s+/g, " ").replaceAll("|", "\\|").trim();
}
