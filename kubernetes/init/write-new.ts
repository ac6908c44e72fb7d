import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { TradewindError } from "@tradewind/core/values/errors.ts";

/**
 * Writes files that are not there yet: those of an earlier run were perhaps edited since.
 * @param files by their path in the folder
 * @returns their paths
 * @throws TradewindError `invalid-output` where one is there, `output`
 */
export async function writeNew(
  files: readonly { readonly name: string; readonly text: string }[],
  folder: string,
): Promise<string[]> {
  const written: string[] = [];
  try {
    for (const { name, text } of files) {
      const path = join(folder, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text, { flag: "wx" });
      written.push(path);
    }
  } catch (error) {
    const exists = (error as { code?: unknown }).code === "EEXIST";
    const what = exists
      ? `${folder} holds files of an earlier run; move them away or name another folder`
      : `cannot write into ${folder}`;
    throw new TradewindError(exists ? "invalid-output" : "output", what, { cause: error });
  }
  return written;
}
