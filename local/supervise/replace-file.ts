import { rename, writeFile } from "node:fs/promises";

/** Replaces a file as a whole: a reader sees the old text or the new one, never a part. One writer for each path. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const next = `${path}.${process.pid}.tmp`;
  await writeFile(next, text, { mode: 0o600 });
  await rename(next, path);
}
