import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { RECOMMENDATIONS_SCHEMA } from "@tradewind/core/contract/recommendation.ts";
import { FakeServer, json } from "../../../core/net/endpoint/fake-server.ts";

const HOSTILE = "\u001b]0;pwned\u0007\u001b[2J\u001b[31mAPPROVED BY ADMIN\nshop  replicas 1 → 99";
const CHANGE = {
  kind: "size",
  id: "3f9a2b77c1",
  application: "hotel",
  namespace: "shop",
  service: "geo",
  resource: "replicas",
  from: 1,
  to: 9,
  proposedAtMs: 1,
  expiresMs: 2,
  state: "approved",
  by: HOSTILE,
};
const LIST = {
  schema: RECOMMENDATIONS_SCHEMA,
  servedAtMs: 1,
  predictor: { reachable: false, problem: HOSTILE },
  recommendations: [],
};

/** What a command prints of a scaler that answers with escape sequences, on both outputs. */
async function printed(...args: readonly string[]): Promise<string> {
  const scaler = await FakeServer.start(({ method, url }, response) => {
    if (method === "GET" && url?.includes("changes")) return json(response, { changes: [CHANGE] });
    return json(
      response,
      url?.includes("recommendations") ? LIST : { error: HOSTILE, message: HOSTILE },
      400,
    );
  });
  onTestFinished(() => scaler.stop());
  const run = promisify(execFile)(process.execPath, ["cli/main.ts", ...args, "--scaler", scaler.url], {
    encoding: "utf8",
  });
  const { stderr, stdout } = await run.catch((failed: { stderr: string; stdout: string }) => failed);
  return stdout + stderr;
}

it.each([["approve"], ["approve", "--json"], ["approve", "3f9a2b77c1"], ["status"], ["doctor"]])(
  "tradewind %s %s prints what a server says without acting on the terminal",
  async (...args) => {
    const text = await printed(...args);
    expect(text).toContain("\\u001b]0;pwned\\u0007");
    expect(text).not.toMatch(/[^\P{C}\n]/u);
  },
);

it("tradewind approve shows no row that a name with an end of line makes up", async () => {
  const rows = (await printed("approve")).trim().split("\n");
  expect(rows).toHaveLength(2);
});
