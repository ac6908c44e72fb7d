import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/** What a process keeps is read by its own user alone. */
export const FILE_MODE = 0o600;
export const DIRECTORY_MODE = 0o700;

/**
 * Replaces a file as a whole: written beside it as `….tmp`, flushed to the disk and renamed, so that a crash, a power cut or a
 * full disk leaves the old text or the new one. One writer for each path.
 * @param text one string, or pieces of a long one
 */
export async function replaceFile(path: string, text: string | Iterable<string>): Promise<void> {
  const temporary = `${path}.tmp`;
  try {
    const file = await open(temporary, "w", FILE_MODE);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  await flushDirectory(dirname(path));
}

/** As {@link replaceFile}, in a state directory, which is made where it is missing: at the first start, or deleted meanwhile. */
export async function replaceState(path: string, text: string | Iterable<string>): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: DIRECTORY_MODE });
  await replaceFile(path, text);
}

/** Without it a power cut may bring the old name back. */
async function flushDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Where a file that cannot be used is moved to, never deleted: `….corrupt-2026-01-02T03-04-05-678Z`. */
export function asidePath(path: string, nowMs: number): string {
  return `${path}.corrupt-${new Date(nowMs).toISOString().replaceAll(/[:.]/g, "-")}`;
}
