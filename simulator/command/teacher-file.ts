import { readFile } from "node:fs/promises";
import { replaceState } from "@tradewind/core/process/state-file.ts";
import { checkpointOf, checkpointText } from "../teacher/td3/checkpoint.ts";
import type { Checkpoint } from "../teacher/td3/checkpoint.ts";

/** Writes it whole or not at all. */
export async function writeTeacher(path: string, checkpoint: Checkpoint): Promise<void> {
  await replaceState(path, checkpointText(checkpoint));
}

/** @returns undefined when there is no such file. @throws Error when it is not a whole teacher */
export async function readTeacher(path: string): Promise<Checkpoint | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  return checkpointOf(text, path);
}
