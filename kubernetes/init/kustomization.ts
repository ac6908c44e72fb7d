import { z } from "zod";

/** What kustomize calls the file that says how others are put together. */
export const KUSTOMIZATION = /^(?:kustomization\.ya?ml|Kustomization)$/;

const list = <Item extends z.ZodType>(item: Item) =>
  z
    .array(item)
    .nullish()
    .transform((items) => items ?? []);
const Patch = z.object({ path: z.string().nullish() });

/** Files that are merged into others, whole or in the place of a path (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/). */
const Kustomization = z
  .object({
    patches: list(Patch),
    patchesJson6902: list(Patch),
    patchesStrategicMerge: list(z.string()),
    replacements: list(Patch),
    configurations: list(z.string()),
    transformers: list(z.string()),
    generators: list(z.string()),
  })
  .transform(({ patches, patchesJson6902, replacements, ...files }) => [
    ...[...patches, ...patchesJson6902, ...replacements].flatMap(({ path }) => path ?? []),
    ...Object.values(files).flat(),
  ]);

/** The files, relative to its own folder, that a kustomization merges into others; nothing of what is no kustomization. */
export const patchesOf = (documents: readonly unknown[]): string[] =>
  documents.flatMap((document) => Kustomization.safeParse(document).data ?? []);
