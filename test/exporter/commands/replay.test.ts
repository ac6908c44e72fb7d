import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { replayed } from "@tradewind/exporter/serve/api/replayed.ts";
import { runningExporter } from "../running-exporter.ts";
import { planOf, wishOf } from "../wish.ts";

it("replays a served decision to the same bytes, and says so to a person", async () => {
  const wish = wishOf({ allocation: { replicas: 99 } });
  const exporter = await runningExporter(planOf([wish]));
  const [recommendation] = (await exporter.list()).recommendations;
  const id = recommendation!.decisionId;
  const { stdout } = await promisify(execFile)(process.execPath, [
    "cli/main.ts",
    "replay",
    id,
    "--scaler",
    exporter.http,
  ]);
  const text = await (await fetch(`${exporter.http}/v1/decisions/${id}`)).text();
  expect(stdout).toContain("search (shop): 99 proposed");
  expect(stdout).toContain(`same ${Buffer.byteLength(text)} bytes, SHA-256 `);
  const changed = JSON.parse(text) as Record<string, unknown>;
  expect(() => replayed({ ...changed, final: { replicas: 21 } })).toThrow("the record says 21");
  expect(() => replayed({ ...changed, decidedAtMs: 9e12 })).toThrow("step 'stale-input' refuses");
});
