import type { Disk, DiskFile } from "@tradewind/core/process/state-file.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { dirname } from "node:path";
import { below, oneIn } from "../../test/fuzz/engine/draw.ts";
import type { Life, Points } from "./points.ts";

interface Inode {
  /** As the page cache has it: what a process sees, and what stays when it is killed. */
  text: string;
  /** As the disk has it: what stays when the power is cut; undefined where nothing was flushed. */
  synced: string | undefined;
}

/** A disk that keeps what POSIX promises and no more. */
export class SimulatedDisk {
  isFull = false;
  readonly #points: Points;
  readonly #isLying: boolean;
  #names = new Map<string, Inode>();
  #syncedNames = new Map<string, Inode>();

  /** @param isLying it says that it has flushed a file and has not */
  constructor(points: Points, isLying: boolean) {
    this.#points = points;
    this.#isLying = isLying;
  }

  /** As one process sees it. */
  of(life: Life): Disk {
    const act = async <Result>(name: string, work: () => Result): Promise<Result> =>
      this.#points.act(name, life, work);
    return {
      open: async (path, flags) => {
        if (flags === "w") return act("open", () => this.#file(this.#truncated(path), life));
        const inode = this.#names.get(path);
        if (inode !== undefined) return this.#file(inode, life);
        const isDirectory = [...this.#names.keys()].some((name) => dirname(name) === path);
        if (isDirectory) return this.#directory(life);
        throw failure("ENOENT", path);
      },
      rename: async (from, to) =>
        act("rename", () => {
          const inode = this.#names.get(from);
          if (inode === undefined) throw failure("ENOENT", from);
          this.#names.delete(from);
          this.#names.set(to, inode);
        }),
      link: async (from, to) =>
        act("link", () => {
          const inode = this.#names.get(from);
          if (inode === undefined) throw failure("ENOENT", from);
          if (this.#names.has(to)) throw failure("EEXIST", to);
          this.#names.set(to, inode);
        }),
      rm: async (path) => act("remove", () => void this.#names.delete(path)),
      mkdir: async () => undefined,
    };
  }

  /** What was not flushed is lost, all of it or from some byte on; a name that was not flushed is the old one or the new one. */
  cutPower(rng: Rng): void {
    if (oneIn(rng, 2)) this.#names = new Map(this.#syncedNames);
    for (const inode of this.#names.values()) {
      inode.text = inode.synced ?? inode.text.slice(0, below(rng, inode.text.length + 1));
      inode.synced = inode.text;
    }
    this.#syncedNames = new Map(this.#names);
  }

  #truncated(path: string): Inode {
    if (this.isFull) throw failure("ENOSPC", path);
    const inode = this.#names.get(path) ?? { text: "", synced: undefined };
    inode.text = "";
    this.#names.set(path, inode);
    return inode;
  }

  #file(inode: Inode, life: Life): DiskFile {
    return {
      writeFile: async (text) => {
        const whole = typeof text === "string" ? text : [...text].join("");
        await this.#points.act("write of the first half", life, () => {
          if (this.isFull) throw failure("ENOSPC", "a file");
          inode.text = whole.slice(0, whole.length / 2);
        });
        await this.#points.act("write of the second half", life, () => {
          inode.text = whole;
        });
      },
      readFile: async () => Promise.resolve(inode.text),
      stat: async () => Promise.resolve({ size: inode.text.length }),
      sync: async () =>
        this.#points.act("fsync", life, () => {
          if (!this.#isLying) inode.synced = inode.text;
        }),
      close: async () => undefined,
    };
  }

  #directory(life: Life): DiskFile {
    const none = async (): Promise<never> => Promise.reject(failure("EISDIR", "a directory"));
    return {
      writeFile: none,
      readFile: none,
      stat: none,
      sync: async () =>
        this.#points.act("fsync of the directory", life, () => {
          this.#syncedNames = new Map(this.#names);
        }),
      close: async () => undefined,
    };
  }
}

const failure = (code: string, path: string): Error => Object.assign(new Error(`${code}: ${path}`), { code });
