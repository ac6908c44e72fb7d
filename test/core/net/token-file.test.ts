import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createLog } from "@tradewind/core/process/log.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { bearerToken, TokenFile } from "@tradewind/core/net/token-file.ts";

const OLD = "0123456789abcdef-old";
const RENEWED = "fedcba9876543210-renewed";
const log = createLog("test", "silent");

function fileWith(text: string): string {
  const directory = mkdtempSync(join(tmpdir(), "tradewind-token-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "token");
  writeFileSync(path, text);
  return path;
}

/** @param time its `ms` is the monotonic time */
const tokensOf = (path: string, time = { ms: 0 }): TokenFile =>
  new TokenFile(path, { monotonicMs: () => time.ms, log });

describe("a token file", () => {
  it("accepts each of its tokens and nothing else, and shows the first", () => {
    const tokens = tokensOf(fileWith(`\n${OLD}\r\n  ${RENEWED}\n`));
    expect(tokens.current()).toBe(OLD);
    for (const token of [OLD, RENEWED]) expect(tokens.accepts(token)).toBe(true);
    for (const wrong of [undefined, "", OLD.slice(1), `${OLD}x`, `${OLD}\n${RENEWED}`]) {
      expect(tokens.accepts(wrong)).toBe(false);
    }
  });

  it("is read again after 5 s, and not before", () => {
    const path = fileWith(OLD);
    const time = { ms: 0 };
    const tokens = tokensOf(path, time);
    writeFileSync(path, RENEWED);
    time.ms = 4_999;
    expect(tokens.current()).toBe(OLD);
    time.ms = 5_000;
    expect(tokens.current()).toBe(RENEWED);
    expect(tokens.accepts(OLD)).toBe(false);
  });

  it("that cannot be used any more leaves its last tokens in force, and the log says so once", () => {
    const path = fileWith(OLD);
    const time = { ms: 0 };
    const lines: string[] = [];
    const written = { error: (...said: unknown[]) => lines.push(JSON.stringify(said)) } as unknown as Logger;
    const tokens = new TokenFile(path, { monotonicMs: () => time.ms, log: written });
    rmSync(path);
    for (time.ms = 5_000; time.ms <= 20_000; time.ms += 5_000) expect(tokens.accepts(OLD)).toBe(true);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(path);
    expect(lines[0]).not.toContain(OLD);
  });

  it.each(["", "\n\n", "short", `${OLD}\nshort`, "with a space in it"])(
    "with the content %j is refused at the start, without saying what is in it",
    (text) => {
      const path = fileWith(text);
      const made = () => new TokenFile(path, { monotonicMs: () => 0, log });
      let error: unknown;
      try {
        made();
      } catch (thrown) {
        error = thrown;
      }
      expect(error).toMatchObject({ code: "token-unusable", message: `cannot use the token file ${path}` });
      const said = String((error as Error).cause);
      for (const line of text.split("\n").filter((each) => each !== "")) expect(said).not.toContain(line);
    },
  );
});

it.each([
  ["Bearer abc", "abc"],
  ["bearer  abc", "abc"],
  ["Bearer", undefined],
  ["Bearer a b", undefined],
  ["Basic abc", undefined],
  [undefined, undefined],
])("the header %j shows the token %j", (header, token) => {
  expect(bearerToken(header)).toBe(token);
});
