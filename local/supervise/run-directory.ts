import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { replaceFile } from "@tradewind/core/process/state-file.ts";
import { killGroup } from "./kill-group.ts";

/** A process that a platform started, with what tells it from a later one of the same number. */
const KnownProcess = z.strictObject({
  name: z.string(),
  pid: z.number().int().positive(),
  startTicks: z.string(),
});
type KnownProcess = z.infer<typeof KnownProcess>;

const ProcessList = z.strictObject({ owner: KnownProcess, processes: z.array(KnownProcess) });

/** Kept in memory while the platform runs, so that what it left behind after a crash can be found by the next one. */
export interface ProcessRegister {
  /** Notes a process that was started. */
  add(name: string, pid: number): void;
  /** Processes that are still running, newest last. */
  running(): readonly { readonly name: string; readonly pid: number }[];
  /** Resolves when the register on disk is current. */
  flush(): Promise<void>;
}

/** One directory for each user: another user's leftovers are neither readable nor ours to sweep. */
export const RUNS_DIRECTORY = join(tmpdir(), `tradewind-${process.getuid?.() ?? "user"}`);
const REGISTER = "processes.json";

/** Fields 3 and 22 of proc_pid_stat(5); undefined where there is no /proc or no such process. */
function readStat(pid: number): { readonly state: string; readonly startTicks: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0] ?? "", startTicks: fields[19] ?? "" };
  } catch {
    return undefined;
  }
}

/**
 * Start time of a process in clock ticks since boot: with the number it names one process.
 * @returns "" where there is no /proc or no such process
 */
const startTicksOf = (pid: number): string => readStat(pid)?.startTicks ?? "";

/** True while a process of this number runs. One that has ended and was not reaped by its parent does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  return !["Z", "X"].includes(readStat(pid)?.state ?? "");
}

/** True while this very process runs. */
const isSameProcess = ({ pid, startTicks }: KnownProcess): boolean =>
  isAlive(pid) && startTicksOf(pid) === startTicks;

/** Makes the directory of this run and the register in it. */
export async function openRunDirectory(
  runsDirectory: string,
): Promise<{ readonly path: string; readonly register: ProcessRegister }> {
  const path = join(runsDirectory, String(process.pid));
  await mkdir(path, { recursive: true, mode: 0o700 });
  const owner = { name: "local", pid: process.pid, startTicks: startTicksOf(process.pid) };
  let known: KnownProcess[] = [];
  let writing = Promise.resolve();
  const write = (): void => {
    const text = JSON.stringify({ owner, processes: known });
    writing = writing.then(async () => replaceFile(join(path, REGISTER), text)).catch(() => undefined);
  };
  write();
  await writing;
  return {
    path,
    register: {
      add(name, pid) {
        known = [...known.filter(isSameProcess), { name, pid, startTicks: startTicksOf(pid) }];
        write();
      },
      running: () => known.filter(isSameProcess).map(({ name, pid }) => ({ name, pid })),
      flush: async () => writing,
    },
  };
}

/** @returns undefined when there is none, or what is there is no register */
async function readRegister(path: string): Promise<z.infer<typeof ProcessList> | undefined> {
  try {
    return ProcessList.parse(JSON.parse(await readFile(path, "utf8")));
  } catch {
    return undefined;
  }
}

/**
 * Ends what platforms that are no more left running, and removes their directories.
 * @returns one line for each platform that was cleaned up after
 */
export async function sweepRuns(runsDirectory: string): Promise<readonly string[]> {
  const said: string[] = [];
  if (!existsSync(runsDirectory)) return said;
  for (const entry of await readdir(runsDirectory)) {
    const path = join(runsDirectory, entry);
    const pid = Number(entry);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const list = await readRegister(join(path, REGISTER));
    if (list === undefined ? isAlive(pid) : isSameProcess(list.owner)) continue;
    const left = list?.processes.filter(isSameProcess) ?? [];
    // With their groups: programs of others keep their workers there.
    for (const { pid: leftPid } of left) killGroup(leftPid);
    await rm(path, { recursive: true, force: true });
    said.push(`cleaned up after platform ${pid}: ${left.length} processes ended`);
  }
  return said;
}
