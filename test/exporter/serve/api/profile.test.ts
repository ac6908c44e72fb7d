import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { runningExporter } from "../../running-exporter.ts";

const TOKENS = { ops: ["read", "profile"], scrape: ["read"] } as const;
const tokenOf = (name: string): string => `${name}-${"t".repeat(32)}`;

/** A scaler with tokens, and how it is asked with one of them. */
async function scalerWithTokens(): Promise<(path: string, name?: string) => Promise<Response>> {
  const folder = mkdtempSync(join(tmpdir(), "tradewind-profile-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const httpTokenFile = join(folder, "tokens");
  const lines = Object.entries(TOKENS).map(([name, scopes]) =>
    JSON.stringify({ name, scopes, token: tokenOf(name) }),
  );
  writeFileSync(httpTokenFile, lines.join("\n"));
  const { http } = await runningExporter(undefined, { httpTokenFile });
  return async (path, name) =>
    fetch(`${http}${path}`, {
      headers: name === undefined ? {} : { authorization: `Bearer ${tokenOf(name)}` },
    });
}

describe("profiles of a scaler", () => {
  it("are given to a token of the scope profile alone, as files that viewers read", async () => {
    const ask = await scalerWithTokens();
    expect((await ask("/v1/profile/cpu")).status).toBe(401);
    expect((await ask("/v1/profile/heap", "scrape")).status).toBe(403);
    const cpu = (await (await ask("/v1/profile/cpu?seconds=1", "ops")).json()) as Record<string, unknown>;
    expect(Object.keys(cpu)).toEqual(
      expect.arrayContaining(["nodes", "startTime", "endTime", "samples", "timeDeltas"]),
    );
    const heap = (await (await ask("/v1/profile/heap?seconds=1", "ops")).json()) as Record<string, unknown>;
    expect(heap["head"]).toMatchObject({ callFrame: { functionName: "(root)" } });
  });

  it("are taken one at a time, for at most a minute", async () => {
    const ask = await scalerWithTokens();
    for (const seconds of ["0", "61", "soon"])
      expect((await ask(`/v1/profile/cpu?seconds=${seconds}`, "ops")).status).toBe(400);
    const statuses = await Promise.all(
      ["cpu", "heap"].map(async (kind) => (await ask(`/v1/profile/${kind}?seconds=1`, "ops")).status),
    );
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 409]);
  });

  it("are refused where no token is asked for, since then anybody could ask", async () => {
    const { http } = await runningExporter(undefined);
    expect((await fetch(`${http}/v1/profile/cpu`)).status).toBe(403);
  });
});
