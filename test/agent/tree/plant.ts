import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** Files by path below a root: a fixture tree as data, because cgroup names hold colons that version control dislikes. */
export type Files = Readonly<Record<string, string>>;

/** A fixture tree on disk. */
export class Tree {
  readonly root: string;

  /** In memory where the machine has a place for it: a tree is thousands of small files. */
  constructor(parent: string = existsSync("/dev/shm") ? "/dev/shm" : tmpdir()) {
    this.root = mkdtempSync(join(parent, "tradewind-tree-"));
  }

  path(relative: string): string {
    return join(this.root, relative);
  }

  /** Writes files in place, so that a descriptor held by a reader sees the new text. */
  plant(files: Files): this {
    for (const [path, text] of Object.entries(files)) {
      const file = this.path(path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    return this;
  }

  remove(path: string): void {
    rmSync(this.path(path), { recursive: true, force: true });
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
