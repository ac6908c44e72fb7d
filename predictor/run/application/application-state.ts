import { mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { applicationKey } from "@tradewind/core/contract/application-list.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { DIRECTORY_MODE } from "@tradewind/core/process/state-file.ts";
import { z } from "zod";
import { INCIDENT_STATE, POLICY_STATE } from "./state-file.ts";
import { APPLICATIONS, HISTORY_FILE } from "../../store/history-file.ts";

interface Place {
  readonly namespace: string;
  readonly name: string;
}

const FILES = [POLICY_STATE.name, INCIDENT_STATE.name];
const Named = z.object({ application: z.string(), namespace: z.string() });

/** Where one of several applications keeps its state: `DIR/applications/NAMESPACE/NAME`. */
export const stateDirectory = (state: string, { name, namespace }: Place): string =>
  join(state, APPLICATIONS, namespace, name);

/**
 * Moves the state of an application that was the only one of its predictor to where it is looked for among several. Never
 * throws: without its state an application begins anew.
 */
export async function adoptState(state: string, place: Place, log: Logger): Promise<void> {
  const to = stateDirectory(state, place);
  try {
    if (await exists(to)) return;
    const text = await readFile(join(state, POLICY_STATE.name), "utf8").catch(() => undefined);
    if (text === undefined) return;
    const found = Named.parse(JSON.parse(text));
    if (found.application !== place.name || found.namespace !== place.namespace) return;
    await mkdir(to, { recursive: true, mode: DIRECTORY_MODE });
    const histories = (await namesIn(state)).filter((name) => name.startsWith(HISTORY_FILE));
    for (const file of [...FILES, ...histories])
      await rename(join(state, file), join(to, file)).catch(ignoreMissing);
    log.info({ to }, "took over the state that the application had as the only one");
  } catch (error) {
    log.warn({ to, problem: describeError(error) }, "the state of before could not be taken over");
  }
}

/**
 * Removes the state of applications that are not planned and that nobody has written for so long. Never throws.
 * @param planned keys of those that are
 * @returns the keys of those whose state was removed
 */
export async function removeOldStates(
  state: string,
  planned: ReadonlySet<string>,
  { log, nowMs, olderThanMs }: { readonly log: Logger; readonly nowMs: number; readonly olderThanMs: number },
): Promise<readonly string[]> {
  const removed: string[] = [];
  const root = join(state, APPLICATIONS);
  for (const namespace of await namesIn(root)) {
    for (const name of await namesIn(join(root, namespace))) {
      const key = applicationKey({ name, namespace });
      const path = stateDirectory(state, { name, namespace });
      if (planned.has(key) || nowMs - (await writtenMs(path)) <= olderThanMs) continue;
      try {
        await rm(path, { recursive: true });
        removed.push(key);
        log.info({ path }, "removed the state of an application that is long gone");
      } catch (error) {
        log.warn({ path, problem: describeError(error) }, "an old state cannot be removed");
      }
    }
  }
  return removed;
}

/** Every application that has a state of its own. */
export async function statePlaces(state: string): Promise<readonly Place[]> {
  const root = join(state, APPLICATIONS);
  const found: Place[] = [];
  for (const namespace of await namesIn(root)) {
    for (const name of await namesIn(join(root, namespace))) found.push({ namespace, name });
  }
  return found;
}

async function writtenMs(path: string): Promise<number> {
  const times = await Promise.all(
    [path, ...(await namesIn(path)).map((name) => join(path, name))].map(async (each) =>
      stat(each).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    ),
  );
  return Math.max(...times);
}

async function namesIn(path: string): Promise<readonly string[]> {
  return readdir(path).catch(() => []);
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function ignoreMissing(error: unknown): void {
  if ((error as { code?: unknown }).code !== "ENOENT") throw error;
}
