import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { AccessTokens, may, SCOPES } from "@tradewind/core/net/access-tokens.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import { HttpDoor } from "@tradewind/core/net/http-door.ts";
import type { Admission } from "@tradewind/core/net/http-door.ts";
import { createLog } from "@tradewind/core/process/log.ts";

const ANN = "0123456789abcdef-ann";
const SCRAPE = "0123456789abcdef-scrape";
const log = createLog("test", "silent");

function fileWith(...lines: readonly (object | string)[]): string {
  const directory = mkdtempSync(join(tmpdir(), "tradewind-access-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "tokens");
  const texts = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
  writeFileSync(path, texts.join("\n"));
  return path;
}

const tokensIn = (...lines: readonly (object | string)[]): AccessTokens =>
  new AccessTokens(fileWith(...lines), { monotonicMs: () => 0, log });

describe("a file of access tokens", () => {
  it("gives each token the name, scopes and namespaces of its line, also where it holds the hash only", () => {
    const sha256 = createHash("sha256").update(SCRAPE).digest("hex");
    const tokens = tokensIn(
      "# who may what",
      { name: "ann", scopes: ["read", "approve"], namespaces: ["shop"], token: ANN },
      { name: "prometheus", scopes: ["read"], sha256 },
    );
    const ann = { name: "ann", scopes: ["read", "approve"], namespaces: ["shop"] };
    expect(tokens.callerOf(ANN)).toEqual(ann);
    expect(tokens.callerOf(SCRAPE)).toEqual({ name: "prometheus", scopes: ["read"] });
    for (const wrong of ["", ANN.slice(1), `${ANN}x`, sha256]) expect(tokens.callerOf(wrong)).toBeUndefined();
    expect(tokens.hasDefault()).toBe(false);
    expect([may(ann as never, "approve", "shop"), may(ann as never, "approve", "bank")]).toEqual([
      true,
      false,
    ]);
    expect(may(ann as never, "override", "shop")).toBe(false);
  });

  it("names a token that stands alone on its line 'default', with every scope in every namespace", () => {
    const tokens = tokensIn(ANN, { name: "bob", scopes: ["read"], token: SCRAPE });
    expect(tokens.callerOf(ANN)).toEqual({ name: "default", scopes: SCOPES });
    expect(tokens.callerOf(SCRAPE)?.name).toBe("bob");
    expect(tokens.hasDefault()).toBe(true);
  });

  it.each<[string, object | string]>([
    ["short tokens", "s3cret-s3cret"],
    ["short named tokens", { name: "ann", scopes: ["read"], token: "s3cret-s3cret" }],
    ["spaces in a token", "s3cret-s3cret s3cret-s3cret"],
    ["a name of control characters", { name: "a\u001b[2J", scopes: ["read"], token: "s3cret-s3cret-s3cret" }],
    ["the name of annotations", { name: "annotation", scopes: ["read"], token: "s3cret-s3cret-s3cret" }],
    ["an unknown scope", { name: "ann", scopes: ["admin"], token: "s3cret-s3cret-s3cret" }],
    ["an unknown field", { name: "ann", scopes: ["read"], tokens: "s3cret-s3cret-s3cret" }],
    ["a broken line", '{"name":"ann","token":"s3cret-s3cret-s3cret"'],
  ])("refuses %s at the start, and says on which line without saying what stands there", (_why, line) => {
    let said = "";
    try {
      tokensIn(ANN, line);
    } catch (error) {
      said = describeError(error);
    }
    expect(said).toContain("line 2");
    expect(said).not.toContain("s3cret");
    expect(said).not.toContain("\u001b");
  });
});

describe("the door of a port", () => {
  /** @param time its `ms` is the monotonic time */
  const doorOf = (path: string, time = { ms: 0 }): HttpDoor =>
    new HttpDoor({ tokenFile: path, monotonicMs: () => time.ms, log });
  const showing = (token: string | undefined, address = "192.0.2.7") => ({
    host: "localhost",
    authorization: token === undefined ? undefined : `Bearer ${token}`,
    address,
  });
  const statusOf = (admission: Admission): number =>
    "refused" in admission ? admission.refused.status : 200;

  it("lets a token do what its scopes and namespaces allow, and nothing else", () => {
    const door = doorOf(
      fileWith(
        { name: "scrape", scopes: ["read"], token: SCRAPE },
        { name: "ann", scopes: ["read", "approve"], namespaces: ["shop"], token: ANN },
      ),
    );
    expect(statusOf(door.admit(showing(SCRAPE)))).toBe(200);
    expect(statusOf(door.admit(showing(SCRAPE), { scope: "approve" }))).toBe(403);
    expect(statusOf(door.admit(showing(ANN)))).toBe(403);
    expect(statusOf(door.admit(showing(ANN), { byNamespace: true, scope: "approve" }))).toBe(200);
    expect(statusOf(door.admit(showing(undefined)))).toBe(401);
  });

  it("makes an address wait after ten wrong tokens in a minute, and nobody else", () => {
    const time = { ms: 0 };
    const door = doorOf(fileWith(ANN), time);
    for (let tries = 0; tries < 10; tries += 1) {
      expect(statusOf(door.admit(showing(`${ANN}-${tries}`)))).toBe(401);
    }
    time.ms = 20_000;
    expect(door.admit(showing(ANN))).toMatchObject({
      refused: { status: 429, headers: { "retry-after": "40" } },
    });
    expect(statusOf(door.admit(showing(undefined)))).toBe(401);
    expect(statusOf(door.admit(showing(ANN, "192.0.2.8")))).toBe(200);
    time.ms = 60_000;
    expect(statusOf(door.admit(showing(ANN)))).toBe(200);
  });

  it("counts the tries of an IPv6 network of 64 bits together, and an IPv4 address in IPv6 as itself", () => {
    const door = doorOf(fileWith(ANN));
    for (let host = 1; host <= 10; host += 1) {
      door.admit(showing(`${ANN}-x`, `2001:db8::${host}`));
      door.admit(showing(`${ANN}-x`, `::ffff:192.0.2.${host}`));
    }
    expect(statusOf(door.admit(showing(ANN, "2001:db8:0:0:f::1")))).toBe(429);
    expect(statusOf(door.admit(showing(ANN, "2001:db8:0:1::1")))).toBe(200);
    expect(statusOf(door.admit(showing(ANN, "192.0.2.1")))).toBe(200);
  });

  it("forgets the first of 4,096 addresses that failed when another one fails", () => {
    const door = doorOf(fileWith(ANN));
    for (let tries = 0; tries < 10; tries += 1) door.admit(showing(`${ANN}-x`, "192.0.2.1"));
    for (let index = 0; index < 4_095; index += 1) {
      door.admit(showing(`${ANN}-x`, `10.0.${index >> 8}.${index & 255}`));
    }
    expect(statusOf(door.admit(showing(ANN, "192.0.2.1")))).toBe(429);
    door.admit(showing(`${ANN}-x`, "10.1.0.0"));
    expect(statusOf(door.admit(showing(ANN, "192.0.2.1")))).toBe(200);
  });
});
