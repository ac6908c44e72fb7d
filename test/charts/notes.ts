import { cp, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { at, CHART, find, KUBERNETES, objectsOf, runHelm } from "./helm.ts";

/**
 * What `helm install` prints with these flags, as release `tradewind` in namespace `tradewind`. Helm renders NOTES.txt only where it
 * asks a cluster, so a copy of the chart puts them into a ConfigMap. @throws Error with what Helm said
 */
export async function notesOf(...flags: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tradewind-notes-"));
  try {
    const chart = join(folder, "tradewind");
    const templates = join(chart, "templates");
    await cp(CHART, chart, { recursive: true });
    const notes = join(templates, "_notes.tpl");
    await rename(join(templates, "NOTES.txt"), notes);
    await writeFile(notes, `{{- define "test.notes" }}${await readFile(notes, "utf8")}{{- end }}`);
    await writeFile(
      join(templates, "notes.yaml"),
      'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: notes }\ndata:\n  notes: {{ include "test.notes" . | toJson }}\n',
    );
    const release = ["tradewind", chart, "--namespace", "tradewind", "--kube-version", KUBERNETES];
    const { ok, stdout, stderr } = await runHelm("template", ...release, ...flags);
    if (!ok) throw new Error(stderr);
    return at(find(objectsOf(stdout), "ConfigMap", "notes"), "data", "notes") as string;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
