import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describeError } from "@tradewind/core/values/errors.ts";
import { applicationOfText } from "./file.ts";
import type { ApplicationEntries, ApplicationEntry } from "./entry.ts";
import { pathsOf } from "./sources.ts";
import type { ApplicationSource } from "./sources.ts";

const CONFIGURATION = /^[^.].*\.(ya?ml|json)$/;
/** More files of a directory are not looked at. */
const MOST_FILES = 1_000;

interface FileEntry {
  readonly text: string;
  readonly entry: ApplicationEntry;
}

/**
 * Follows applications in files: those given, and every configuration in the directories given, which may come and go. One that
 * is no longer valid keeps its last valid state; one whose file is gone is gone.
 */
export class ApplicationFiles implements ApplicationEntries {
  readonly #files: readonly string[];
  readonly #directories: readonly string[];
  readonly #pollMs: number;
  #held = new Map<string, FileEntry>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(places: ReturnType<typeof pathsOf>, pollMs: number) {
    this.#files = places.files;
    this.#directories = places.directories;
    this.#pollMs = pollMs;
  }

  entries(): readonly ApplicationEntry[] {
    return [...this.#held.values()].map(({ entry }) => entry);
  }

  whyNot(): string | undefined {
    return undefined;
  }

  /** Reads them once. */
  async read(): Promise<void> {
    await this.#look(() => undefined);
  }

  async start(onChange: () => void): Promise<void> {
    await this.#look(onChange);
    this.#schedule(onChange);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  #schedule(onChange: () => void): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.#look(onChange).then(() => this.#schedule(onChange));
    }, this.#pollMs);
    this.#timer.unref();
  }

  async #look(onChange: () => void): Promise<void> {
    const now = new Map<string, FileEntry>();
    let isOther = false;
    for (const path of await this.#paths()) {
      const before = this.#held.get(path);
      const held = await look(path, before);
      if (held === undefined) continue;
      isOther ||= held !== before;
      now.set(path, held);
    }
    isOther ||= now.size !== this.#held.size;
    this.#held = now;
    if (isOther && !this.#stopped) onChange();
  }

  /** Files that were given are looked for even where there are none: that is a problem of theirs. */
  async #paths(): Promise<string[]> {
    const found = await Promise.all(
      this.#directories.map(async (directory) => {
        try {
          const names = (await readdir(directory)).filter((name) => CONFIGURATION.test(name)).sort();
          return names.slice(0, MOST_FILES).map((name) => join(directory, name));
        } catch {
          // A directory that cannot be read for a moment says nothing of the applications in it.
          return [...this.#held.keys()].filter((path) => path.startsWith(join(directory, "/")));
        }
      }),
    );
    return [...new Set([...this.#files, ...found.flat()])];
  }
}

/** @returns `before` where nothing changed; undefined where the file is gone */
async function look(path: string, before: FileEntry | undefined): Promise<FileEntry | undefined> {
  let text = "";
  let problem: string | undefined;
  try {
    text = await readFile(path, "utf8");
    if (text === before?.text) return before;
    return { text, entry: { origin: path, application: applicationOfText(text, path, true), problem } };
  } catch (error) {
    const isGone = (error as { code?: unknown }).code === "ENOENT";
    if (isGone && before?.entry.application !== undefined) return undefined;
    problem = describeError(error).slice(0, 1_000);
  }
  const application = before?.entry.application;
  if (before?.text === text && before.entry.problem === problem) return before;
  return { text, entry: { origin: path, application, problem } };
}

/** Namespaces of the applications that can be read now. */
export async function namespacesInFiles(sources: readonly ApplicationSource[]): Promise<string[]> {
  const once = new ApplicationFiles(pathsOf(sources), 0);
  await once.read();
  return once.entries().flatMap(({ application }) => application?.namespace ?? []);
}
