import { link, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/** An open file or directory. */
export interface DiskFile {
  writeFile(text: string | Iterable<string>): Promise<void>;
  readFile(encoding: "utf8"): Promise<string>;
  stat(): Promise<{ readonly size: number }>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** What states are kept on, as `node:fs/promises` has it. */
export interface Disk {
  open(path: string, flags: "r" | "w", mode?: number): Promise<DiskFile>;
  rename(from: string, to: string): Promise<void>;
  link(from: string, to: string): Promise<void>;
  rm(path: string, options: { readonly force: true }): Promise<void>;
  mkdir(path: string, options: { readonly recursive: true; readonly mode: number }): Promise<unknown>;
}

export const systemDisk: Disk = { link, mkdir, open, rename, rm };

/** What a process keeps is read by its own user alone. */
export const FILE_MODE = 0o600;
export const DIRECTORY_MODE = 0o700;

/**
 * Replaces a file as a whole: written beside it as `….tmp`, flushed to the disk and renamed, so that a crash, a power cut or a
 * full disk leaves the old text or the new one. One writer for each path.
 * @param text one string, or pieces of a long one
 */
export async function replaceFile(
  path: string,
  text: string | Iterable<string>,
  disk: Disk = systemDisk,
): Promise<void> {
  const temporary = `${path}.tmp`;
  try {
    const file = await disk.open(temporary, "w", FILE_MODE);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await disk.rename(temporary, path);
  } catch (error) {
    await disk.rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  await flushDirectory(dirname(path), disk);
}

/** As {@link replaceFile}, in a state directory, which is made where it is missing: at the first start, or deleted meanwhile. */
export async function replaceState(
  path: string,
  text: string | Iterable<string>,
  disk: Disk = systemDisk,
): Promise<void> {
  await disk.mkdir(dirname(path), { recursive: true, mode: DIRECTORY_MODE });
  await replaceFile(path, text, disk);
}

/** Without it a power cut may bring the old name back. */
async function flushDirectory(path: string, disk: Disk): Promise<void> {
  const directory = await disk.open(path, "r");
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
