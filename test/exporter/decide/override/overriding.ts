import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { OverrideList } from "@tradewind/core/contract/override.ts";
import type { ListedOverride } from "@tradewind/core/contract/override.ts";
import type { Plan, Wish } from "@tradewind/core/contract/plan.ts";
import { until } from "../../until.ts";
import { planOf, wishOf } from "../../wish.ts";
import type { WireClient } from "../../serve/keda/wire-client.ts";

/** From the command to KEDA's answer. */
const MOST_MS = 5_000;

export const TOKENS = {
  scrape: { scopes: ["read"] },
  ann: { scopes: ["read", "override"] },
  bob: { scopes: ["read", "override"], namespaces: ["bank"] },
} as const;
export type Name = keyof typeof TOKENS;
export const tokenOf = (name: Name): string => `${name}-0123456789abcdef`;

/** A state directory with a file of {@link TOKENS}; both go with the test. */
export function keptPlaces(): { readonly state: string; readonly httpTokenFile: string } {
  const state = mkdtempSync(join(tmpdir(), "tradewind-override-"));
  onTestFinished(() => rmSync(state, { recursive: true, force: true }));
  const httpTokenFile = join(state, "tokens");
  const lines = Object.entries(TOKENS).map(([name, rights]) =>
    JSON.stringify({ name, ...rights, token: tokenOf(name as Name) }),
  );
  writeFileSync(httpTokenFile, lines.join("\n"));
  return { state, httpTokenFile };
}

/** What runs is 3 of each service. */
const wish = (service: string, replicas: number, changes: Partial<Wish> = {}): Wish =>
  wishOf({ service, allocation: { replicas, cpuCores: 0.6, memoryBytes: 200e6 }, ...changes });

let sequence = 0;
export const planned = (search: number, pay = 4, changes: Partial<Plan> = {}): Plan =>
  planOf([wish("search", search), wish("pay", pay)], {
    sequence: (sequence += 1),
    windowSeconds: 15,
    ...changes,
  });

export const ask = async (
  http: string,
  path: string,
  name: Name = "ann",
  init: RequestInit = {},
): Promise<Response> =>
  fetch(`${http}${path}`, { ...init, headers: { authorization: `Bearer ${tokenOf(name)}` } });

/** Posts an order as the command does. */
export const order = async (
  http: string,
  words: Readonly<Record<string, string>>,
  name: Name = "ann",
): Promise<Response> =>
  ask(http, "/v1/overrides", name, {
    method: "POST",
    body: new URLSearchParams({ reason: "bad deploy", ...words }),
  });

export const overridesOf = async (http: string): Promise<ListedOverride[]> =>
  OverrideList.parse(await (await ask(http, "/v1/overrides")).json()).overrides;

/** What KEDA is answered of a service; undefined where it is answered nothing. */
export async function answered(
  client: WireClient,
  service: string,
  namespace = "shop",
): Promise<number | undefined> {
  const ref = { name: service, namespace, metadata: { service } };
  const metrics = await client.metrics(ref, "recommended-replicas").catch(() => []);
  return metrics[0]?.int;
}

/** Waits no longer than an override may take. */
export const answers = async (
  client: WireClient,
  service: string,
  replicas: number,
  namespace = "shop",
): Promise<number> =>
  until(
    `${replicas} replicas of ${service}`,
    async () => ((await answered(client, service, namespace)) === replicas ? replicas : undefined),
    MOST_MS,
  );
