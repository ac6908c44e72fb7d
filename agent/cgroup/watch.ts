import { watch } from "node:fs";
import type { FSWatcher } from "node:fs";
import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Discovery } from "./discovery.ts";

/** A rescan with every directory watched: only a safety net. */
const WATCHED_RESCAN_MS = 30_000;
/** A rescan when the kernel would not watch everything, or no root was there yet: what keeps arrivals within 2 s. */
const UNWATCHED_RESCAN_MS = 1_500;
/** How long a burst of changes may gather before it is looked at. */
const GATHER_MS = 150;
/** A rescan may take at most this part of the time. */
const REST_PER_SCAN = 20;

/** Looks for containers at the start, whenever the kernel reports a change of a watched directory, and now and then. */
export class DiscoveryWatch {
  readonly #clock: Clock;
  readonly #scan: () => Discovery;
  readonly #found: (discovery: Discovery) => void;
  readonly #watchers = new Map<string, FSWatcher>();
  #timer: NodeJS.Timeout | undefined;
  #dueMs = Infinity;
  #restUntilMs = 0;
  #unwatched = 0;
  #scans = 0;
  #closed = false;

  constructor(clock: Clock, scan: () => Discovery, found: (discovery: Discovery) => void) {
    this.#clock = clock;
    this.#scan = scan;
    this.#found = found;
  }

  get scansTotal(): number {
    return this.#scans;
  }

  get watchedDirectories(): number {
    return this.#watchers.size;
  }

  /** Scans now. */
  scan(): void {
    if (this.#closed) return;
    const startMs = this.#clock.monotonicMs();
    const discovery = this.#scan();
    this.#scans += 1;
    const isNew = this.#follow(discovery.directories);
    this.#found(discovery);
    const endMs = this.#clock.monotonicMs();
    this.#restUntilMs = endMs + (endMs - startMs) * REST_PER_SCAN;
    this.#dueMs = Infinity;
    const complete = this.#unwatched === 0 && discovery.roots.length > 0;
    this.#schedule(endMs + (complete ? WATCHED_RESCAN_MS : UNWATCHED_RESCAN_MS));
    // What came between the listing and the start of a watch was reported to nobody.
    if (isNew) this.#changed();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #changed(): void {
    this.#schedule(Math.max(this.#clock.monotonicMs() + GATHER_MS, this.#restUntilMs));
  }

  #schedule(dueMs: number): void {
    if (this.#closed || dueMs >= this.#dueMs) return;
    this.#dueMs = dueMs;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.scan(), Math.max(0, dueMs - this.#clock.monotonicMs()));
    this.#timer.unref();
  }

  /** @returns whether a directory is watched that was not before */
  #follow(directories: readonly string[]): boolean {
    const wanted = new Set(directories);
    for (const [directory, watcher] of this.#watchers) {
      if (wanted.has(directory)) continue;
      watcher.close();
      this.#watchers.delete(directory);
    }
    this.#unwatched = 0;
    let isNew = false;
    for (const directory of wanted) {
      if (this.#watchers.has(directory)) continue;
      if (this.#watch(directory)) isNew = true;
      else this.#unwatched += 1;
    }
    return isNew;
  }

  #watch(directory: string): boolean {
    try {
      const watcher = watch(directory, { persistent: false }, (event) => {
        // Directories that come and go are renames; changes are writes to the files in them.
        if (event === "rename") this.#changed();
      });
      watcher.on("error", () => {
        watcher.close();
        this.#watchers.delete(directory);
        this.#changed();
      });
      this.#watchers.set(directory, watcher);
      return true;
    } catch {
      return false;
    }
  }
}
