import { replaceState } from "@tradewind/core/process/state-file.ts";
import { checkpointOf, checkpointText } from "../teacher/td3/checkpoint.ts";
import type { Checkpoint } from "../teacher/td3/checkpoint.ts";
import { readIfThere } from "./read-if-there.ts";

/** Writes it whole or not at all. */
export async function writeTeacher(path: string, checkpoint: Checkpoint): Promise<void> {
  await replaceState(path, checkpointText(checkpoint));
}

/** @returns undefined when there is no such file. @throws Error when it is not a whole teacher */
export async function readTeacher(path: string): Promise<Checkpoint | undefined> {
  const bytes = await readIfThere(path);
  return bytes && checkpointOf(bytes.toString("utf8"), path);
}
