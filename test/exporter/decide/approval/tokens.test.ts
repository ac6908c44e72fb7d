import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ChangeList } from "@tradewind/core/contract/change.ts";
import { runningExporter } from "../../running-exporter.ts";
import { until } from "../../until.ts";
import { planOf, wishOf } from "../../wish.ts";

const TOKENS = {
  scrape: { scopes: ["read"] },
  ann: { scopes: ["read", "approve"], namespaces: ["shop"] },
  bob: { scopes: ["read", "approve"], namespaces: ["bank"] },
} as const;
type Name = keyof typeof TOKENS;
const tokenOf = (name: Name): string => `${name}-0123456789abcdef`;

/** A scaler with a change of `search` in `shop` that waits, and a token for each of {@link TOKENS}. */
async function waiting() {
  const state = await mkdtemp(join(tmpdir(), "tradewind-tokens-"));
  onTestFinished(() => rm(state, { recursive: true }));
  const [application, httpTokenFile] = [join(state, "app.yaml"), join(state, "tokens")];
  const lines = Object.entries(TOKENS).map(([name, rights]) =>
    JSON.stringify({ name, ...rights, token: tokenOf(name as Name) }),
  );
  await writeFile(httpTokenFile, lines.join("\n"));
  await writeFile(
    application,
    "{name: hotel, namespace: shop, mode: act, entry: search, objective: {milliseconds: 200}, approval: {}}",
  );
  const exporter = await runningExporter(undefined, { application, httpTokenFile, state });
  exporter.predictor.serve(
    planOf([
      wishOf({
        allocation: { replicas: 9 },
        observed: { replicasReady: 3, replicasWanted: 3, complete: true },
      }),
    ]),
  );
  const ask = async (name: Name, path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${exporter.http}${path}`, { ...init, headers: { authorization: `Bearer ${tokenOf(name)}` } });
  const json = async (name: Name, path: string): Promise<Record<string, unknown>> =>
    (await (await ask(name, path)).json()) as Record<string, unknown>;
  const id = await until("a change", async () => {
    const { changes } = ChangeList.parse(await json("ann", "/v1/changes"));
    return changes[0]?.id;
  });
  const approve = async (name: Name, by = "eve"): Promise<Response> =>
    ask(name, `/v1/changes/${id}`, {
      method: "POST",
      body: new URLSearchParams({ verdict: "approve", by }),
    });
  return { approve, ask, id, json };
}

it("approves with a token of the scope and the namespace only, in the name of the token whatever the sender says", async () => {
  const { approve, id, json } = await waiting();
  expect((await approve("scrape")).status).toBe(403);
  expect((await approve("bob")).status).toBe(404);
  const answer = await approve("ann", "eve");
  expect(await answer.json()).toMatchObject({ id, state: "approved", by: "ann", note: "eve" });
  const { events } = (await json("scrape", "/v1/events")) as {
    events: { change?: string; state?: string }[];
  };
  expect(events.find(({ state }) => state === "approved")).toMatchObject({
    change: id,
    by: "ann",
    note: "eve",
  });
});

it.each([
  ["an escape sequence", "\u001b]0;pwned\u0007\u001b[2J"],
  ["a C1 control character", "\u009b2J"],
  ["an end of line", "ann\nbob"],
  ["a change of the order of writing", "ann\u202ebob"],
])("refuses a note with %s", async (_what, by) => {
  const { approve, json } = await waiting();
  expect((await approve("ann", by)).status).toBe(400);
  expect(await json("ann", "/v1/changes")).toMatchObject({ changes: [{ state: "awaiting" }] });
});

it("shows a token for one namespace nothing of another one", async () => {
  const { ask, json } = await waiting();
  const decisionId = await until("a decision", async () => {
    const list = await json("ann", "/v1/recommendations");
    return (list["recommendations"] as { decisionId: string }[])[0]?.decisionId;
  });
  const decision = `/v1/decisions/${decisionId}`;
  const query = "?namespace=shop&service=search";
  expect(await json("ann", `/v1/decisions${query}`)).toMatchObject({ decisions: [{ service: "search" }] });
  for (const path of [decision, `${decision}/replay`]) {
    expect((await ask("ann", path)).status).toBe(200);
    expect((await ask("bob", path)).status).toBe(404);
  }
  const nothing = await json("bob", "/v1/recommendations");
  expect(nothing).toMatchObject({ recommendations: [], predictor: { reachable: true } });
  expect(JSON.stringify(nothing)).not.toMatch(/hotel|shop|search/);
  expect(await json("bob", `/v1/decisions${query}`)).toEqual({ decisions: [] });
  for (const path of ["/v1/changes", "/v1/events", "/v1/calendars"]) {
    expect(JSON.stringify(await json("bob", path))).not.toMatch(/hotel|shop|search/);
  }
  const reader = (await ask("bob", "/v1/stream")).body!.getReader();
  const said = new TextDecoder().decode((await reader.read()).value as Uint8Array);
  await reader.cancel();
  expect(said).toContain("event: header");
  expect(said).not.toMatch(/hotel|shop|search/);
  expect((await ask("bob", `/v1/explain${query}`)).status).toBe(403);
  expect((await ask("bob", "/v1/explain")).status).toBe(403);
  expect((await ask("bob", "/v1/explain?namespace=bank")).status).toBe(404);
  expect((await ask("bob", "/metrics")).status).toBe(403);
  expect((await ask("scrape", "/metrics")).status).toBe(200);
});
