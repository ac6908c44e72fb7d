import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { AbsentSource, readFailure } from "@tradewind/agent/read/file-error.ts";
import { OptionalFile } from "@tradewind/agent/read/optional-file.ts";
import { Reader } from "@tradewind/agent/read/reader.ts";
import { Tree } from "../tree/plant.ts";

let tree: Tree | undefined;
afterEach(() => tree?.[Symbol.dispose]());

describe("Reader", () => {
  test("a held file shows what was written into it since", () => {
    tree = new Tree().plant({ "a/stat": "one\n" });
    const file = new Reader(16).file(tree.path("a"), "stat");
    expect(file.text()).toBe("one\n");
    tree.plant({ "a/stat": "two and more\n" });
    expect(file.text()).toBe("two and more\n");
    file.close();
  });

  test("texts of any size are read whole", () => {
    tree = new Tree();
    const reader = new Reader(16);
    for (const length of [0, 1, 3999, 4000, 4096, 65_535, 65_536, 65_537, 300_000]) {
      const text = "x".repeat(length);
      tree.plant({ [`f${length}`]: text });
      expect(reader.file(tree.root, `f${length}`).text()).toBe(text);
    }
  });

  test.skipIf(!existsSync("/proc/self/smaps"))(
    "a list is read to its last record, however long each is",
    () => {
      const mappings = (text: string): string[] => text.match(/^[0-9a-f]+-[0-9a-f]+ .*$/gm) ?? [];
      const read = mappings(new Reader(16).list("/proc/self", "smaps").text());
      // What lies between may change from one read to the next.
      const expected = mappings(readFileSync("/proc/self/smaps", "latin1"));
      expect([read[0], read.at(-1)]).toEqual([expected[0], expected.at(-1)]);
    },
  );

  test("a file that cannot end is refused", () => {
    const zero = new Reader(16).file("/dev", "zero");
    expect(() => zero.text()).toThrow("larger than");
  });

  test("descriptors are bounded: past the limit files are opened for each read", () => {
    tree = new Tree().plant({ a: "1", b: "2", c: "3" });
    const reader = new Reader(2);
    const files = ["a", "b", "c"].map((name) => reader.file(tree!.root, name));
    for (let round = 0; round < 3; round += 1) {
      expect(files.map((file) => file.text())).toEqual(["1", "2", "3"]);
      expect(reader.openDescriptors).toBe(2);
    }
    for (const file of files) file.close();
    expect(reader.openDescriptors).toBe(0);
  });

  test("a failed read leaves no descriptor, and the file is found when it comes", () => {
    tree = new Tree();
    const reader = new Reader(16);
    const file = reader.file(tree.root, "late");
    expect(() => file.text()).toThrow("not there");
    expect(reader.openDescriptors).toBe(0);
    writeFileSync(tree.path("late"), "here");
    expect(file.text()).toBe("here");
  });

  test("a directory in place of a file is an error, not a crash", () => {
    tree = new Tree();
    mkdirSync(tree.path("folder"));
    const reader = new Reader(16);
    expect(() => reader.file(tree!.root, "folder").text()).toThrow("EISDIR");
    expect(reader.openDescriptors).toBe(0);
  });
});

describe("a removed cgroup", () => {
  const cgroup = "/sys/fs/cgroup";
  const root = [`${cgroup}/unified`, `${cgroup}/cpu`, cgroup].find((folder) => {
    try {
      return readdirSync(folder).includes("cgroup.procs");
    } catch {
      return false;
    }
  });
  const folder = `${root ?? ""}/tradewind-test-${process.pid}`;
  let mayMake = false;
  try {
    if (root !== undefined) {
      mkdirSync(folder);
      rmdirSync(folder);
      mayMake = true;
    }
  } catch {
    process.stderr.write("\nno right to make cgroups: the test of a removed cgroup is SKIPPED\n");
  }

  test.skipIf(!mayMake)("is absent through a descriptor held from before, which is given back", () => {
    mkdirSync(folder);
    const reader = new Reader(16);
    const file = reader.file(folder, "cgroup.procs");
    try {
      expect(file.text()).toBe("");
    } finally {
      rmdirSync(folder);
    }
    let failure: unknown;
    try {
      file.text();
    } catch (error) {
      failure = error;
    }
    expect(failure).toBeDefined();
    expect(readFailure(failure)).toBe("absent");
    expect(reader.openDescriptors).toBe(0);
  });
});

describe("what a failure means", () => {
  const withCode = (code: string): Error => Object.assign(new Error(code), { code });

  test.each(["ENOENT", "ENODEV", "EOPNOTSUPP", "EINVAL", "ESRCH"])("%s: not supported", (code) => {
    expect(readFailure(withCode(code))).toBe("absent");
  });

  test.each(["EACCES", "EPERM", "EIO", "EMFILE"])("%s: unreadable", (code) => {
    expect(readFailure(withCode(code))).toBe("unreadable");
  });

  test("an absent source says what it was", () => {
    expect(new AbsentSource("resctrl").message).toBe("resctrl is not available on this node");
  });
});

describe("OptionalFile", () => {
  test("a missing file is no text, and after three looks no more looks", () => {
    tree = new Tree();
    const reader = new Reader(16);
    const file = new OptionalFile(reader.file(tree.root, "none"));
    for (let look = 0; look < 3; look += 1) expect(file.text()).toBeUndefined();
    tree.plant({ none: "too late" });
    expect(file.text()).toBeUndefined();
  });

  test("a file that is there and cannot be read is an error", () => {
    // Address 0 of one's own memory: the kernel answers EIO, to root as well.
    const file = new OptionalFile(new Reader(16).file("/proc/self", "mem"));
    expect(() => file.text()).toThrow("EIO");
  });
});
