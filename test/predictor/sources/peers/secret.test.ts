import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "@tradewind/core/process/log.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PeerSecret } from "@tradewind/predictor/sources/peers/secret.ts";

const log = createLog("test", "silent");
let directory = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "tradewind-secret-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const write = (text: string): string => {
  const path = join(directory, "secret");
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
  return path;
};

describe("the secret that predictors share", () => {
  it("is what the file holds, without blanks around it, and changes with it", () => {
    const secret = new PeerSecret(write("0123456789abcdef\n"), log);
    expect(Buffer.from(secret.current).toString()).toBe("0123456789abcdef");
    write("fedcba9876543210");
    secret.look();
    expect(Buffer.from(secret.current).toString()).toBe("fedcba9876543210");
  });

  it("stays as it was while the file cannot be used", () => {
    const secret = new PeerSecret(write("0123456789abcdef"), log);
    write("short");
    secret.look();
    rmSync(join(directory, "secret"));
    secret.look();
    expect(Buffer.from(secret.current).toString()).toBe("0123456789abcdef");
  });

  it.each(["", "   \n", "too short"])("is refused at the start when the file holds %j", (text) => {
    expect(() => new PeerSecret(write(text), log)).toThrow("at least 16 bytes");
  });

  it("is refused at the start when there is no file, by its path", () => {
    expect(() => new PeerSecret(join(directory, "absent"), log)).toThrow(join(directory, "absent"));
  });
});
