import { readFailure } from "./file-error.ts";
import type { HeldFile } from "./reader.ts";

/** Misses in a row after which a file is not looked for any more: each look costs a failed system call. */
const MOST_MISSES = 3;

/** A file that may be missing on its own, for want of a controller or of a newer kernel. */
export class OptionalFile {
  readonly #file: HeldFile;
  #misses = 0;

  constructor(file: HeldFile) {
    this.#file = file;
  }

  /** @returns undefined when the file is not there @throws the system's error when it is there and cannot be read */
  text(): string | undefined {
    if (this.#misses >= MOST_MISSES) return undefined;
    try {
      const text = this.#file.text();
      this.#misses = 0;
      return text;
    } catch (error) {
      if (readFailure(error) === "unreadable") throw error;
      this.#misses += 1;
      return undefined;
    }
  }

  close(): void {
    this.#file.close();
  }
}
