import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { asidePath, replaceFile, replaceState } from "@tradewind/core/process/state-file.ts";

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "tradewind-replace-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

describe("replacing a file of state", () => {
  it("makes the directory and the file for the own user alone, whatever the umask allows", async () => {
    const umask = process.umask(0);
    onTestFinished(() => void process.umask(umask));
    const parent = await directory();
    const path = join(parent, "a", "b", "state.json");
    await replaceState(path, "{}");
    expect(await modeOf(path)).toBe(0o600);
    expect(await modeOf(join(parent, "a"))).toBe(0o700);
    expect(await modeOf(join(parent, "a", "b"))).toBe(0o700);
  });

  it("makes a file private that was readable for all", async () => {
    const path = join(await directory(), "state.json");
    await writeFile(path, "old", { mode: 0o644 });
    await replaceFile(path, ["n", "e", "w"]);
    expect(await modeOf(path)).toBe(0o600);
    expect(await readFile(path, "utf8")).toBe("new");
  });

  it("makes the directory again when it was deleted meanwhile", async () => {
    const parent = await directory();
    const path = join(parent, "state", "state.json");
    await replaceState(path, "1");
    await rm(join(parent, "state"), { recursive: true });
    await expect(replaceFile(path, "2")).rejects.toThrow("ENOENT");
    await replaceState(path, "2");
    expect(await readFile(path, "utf8")).toBe("2");
  });

  it("leaves the old text and nothing beside it when the new one fails half-way", async () => {
    const parent = await directory();
    const path = join(parent, "state.json");
    await replaceFile(path, "old");
    const breaking = function* (): Generator<string> {
      yield "half";
      throw new Error("broken off");
    };
    await expect(replaceFile(path, breaking())).rejects.toThrow("broken off");
    expect(await readFile(path, "utf8")).toBe("old");
    expect(await readdir(parent)).toEqual(["state.json"]);
  });

  it("takes the place of what a killed writer left, and refuses a path that is taken", async () => {
    const parent = await directory();
    const path = join(parent, "state.json");
    await writeFile(`${path}.tmp`, "half of");
    await chmod(`${path}.tmp`, 0o600);
    await replaceFile(path, "whole");
    expect(await readdir(parent)).toEqual(["state.json"]);
    await mkdir(join(parent, "taken.json"));
    await expect(replaceFile(join(parent, "taken.json"), "x")).rejects.toThrow(/EISDIR|directory/);
  });

  it("names a bad file after the time at which it was set aside", () => {
    expect(asidePath("/state/history.sqlite", Date.UTC(2026, 0, 2, 3, 4, 5, 678))).toBe(
      "/state/history.sqlite.corrupt-2026-01-02T03-04-05-678Z",
    );
  });
});
