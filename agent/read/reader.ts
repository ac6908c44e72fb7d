import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { MISSING_FILE, systemCode } from "./file-error.ts";

const FIRST_BUFFER_BYTES = 64 * 1024;
/** No kernel file read here comes near it; a larger one is refused instead of eating the node's memory. */
const LARGEST_FILE_BYTES = 16 * 1024 * 1024;
const NO_DESCRIPTOR_LEFT = new Set(["EMFILE", "ENFILE"]);

/**
 * Reads small kernel files again and again: descriptors stay open, every read is positional and goes into one reused
 * buffer (1 to 7 µs a file, against 12 to 29 µs for open, read and close). Descriptors are bounded: past `maxOpen`, or
 * when the system has none left, a file is opened for each read.
 */
export class Reader {
  #buffer = Buffer.allocUnsafeSlow(FIRST_BUFFER_BYTES);
  readonly #maxOpen: number;
  #open = 0;
  #reads = 0;

  constructor(maxOpen: number) {
    this.#maxOpen = maxOpen;
  }

  /** Descriptors held open now. */
  get openDescriptors(): number {
    return this.#open;
  }

  /** Files read since the start. */
  get readsTotal(): number {
    return this.#reads;
  }

  /** @param name the file's name below `folder`; thousands of files share a few folders' texts */
  file(folder: string, name: string): HeldFile {
    return new HeldFile(this, folder, name, false);
  }

  /** A file of a record for each interface, CPU, disk or process: one read gives no more whole records than fit a page. */
  list(folder: string, name: string): HeldFile {
    return new HeldFile(this, folder, name, true);
  }

  /** @throws the system's error */
  open(path: string): number {
    const descriptor = openSync(path, "r");
    this.#open += 1;
    return descriptor;
  }

  close(descriptor: number): void {
    this.#open -= 1;
    closeSync(descriptor);
  }

  /** True when one more descriptor may stay open. */
  get mayHold(): boolean {
    return this.#open < this.#maxOpen;
  }

  /** The whole text of a file open at `descriptor`, one character a byte. */
  text(descriptor: number, file: HeldFile): string {
    this.#reads += 1;
    let length = 0;
    for (;;) {
      const read = readSync(descriptor, this.#buffer, length, this.#buffer.length - length, length);
      length += read;
      if (read === 0 || length < this.#buffer.length) {
        // Kernel files may return less than asked for; only a large one or a list needs a second read to be sure of its end.
        if (read === 0 || (!file.isList && length < 4000)) return this.#buffer.toString("latin1", 0, length);
        continue;
      }
      this.#grow(file);
    }
  }

  #grow({ path }: HeldFile): void {
    if (this.#buffer.length >= LARGEST_FILE_BYTES) {
      throw new TradewindError("file-too-large", `${path} is larger than ${LARGEST_FILE_BYTES} bytes`);
    }
    const larger = Buffer.allocUnsafeSlow(this.#buffer.length * 2);
    this.#buffer.copy(larger);
    this.#buffer = larger;
  }
}

/** One kernel file. Close it when its object is gone. */
export class HeldFile {
  readonly #reader: Reader;
  readonly #folder: string;
  readonly #name: string;
  #descriptor: number | undefined;
  /** Ends only where a read returns nothing. */
  readonly isList: boolean;

  constructor(reader: Reader, folder: string, name: string, isList: boolean) {
    this.#reader = reader;
    this.#folder = folder;
    this.#name = name;
    this.isList = isList;
  }

  get path(): string {
    return `${this.#folder}/${this.#name}`;
  }

  /** @throws the system's error; the descriptor is closed then and the next read opens the path anew */
  text(): string {
    if (this.#descriptor === undefined && !existsSync(this.path)) throw MISSING_FILE;
    const held = this.#descriptor ?? this.#openHeld();
    if (held === undefined) return this.#readOnce();
    try {
      return this.#reader.text(held, this);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  close(): void {
    if (this.#descriptor === undefined) return;
    this.#reader.close(this.#descriptor);
    this.#descriptor = undefined;
  }

  #openHeld(): number | undefined {
    if (!this.#reader.mayHold) return undefined;
    try {
      this.#descriptor = this.#reader.open(this.path);
    } catch (error) {
      if (NO_DESCRIPTOR_LEFT.has(systemCode(error) ?? "")) return undefined;
      throw error;
    }
    return this.#descriptor;
  }

  #readOnce(): string {
    const descriptor = this.#reader.open(this.path);
    try {
      return this.#reader.text(descriptor, this);
    } finally {
      this.#reader.close(descriptor);
    }
  }
}
