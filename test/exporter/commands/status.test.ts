import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { configure } from "@tradewind/exporter/commands/status.ts";
import { freePort } from "../../free-port.ts";
import { runningExporter } from "../running-exporter.ts";
import { planning } from "../several-applications.ts";
import { planOf, wishOf } from "../wish.ts";
import { printedBy } from "./printed.ts";

const printed = async (...args: readonly string[]): Promise<string> => printedBy(configure, args);

async function grown() {
  const exporter = await runningExporter(planOf([wishOf(), wishOf({ service: "rate" })]));
  const eight = { replicas: 8, cpuCores: 0.6, memoryBytes: 200e6 };
  const reasons = [{ code: "queue-share", queueRatio: 0.6 }];
  const more = wishOf({ allocation: eight, reason: "the queue grew", reasons });
  exporter.predictor.serve(planOf([more, wishOf({ service: "rate" })], { sequence: 2 }));
  await exporter.listWhen("8 replicas", ({ recommendations }) =>
    recommendations.some(({ replicas }) => replicas === 8),
  );
  const later = wishOf({ allocation: eight, reason: "keeps 8", reasons: [{ code: "carbon-limit" }] });
  const policyReasons = [{ code: "cpu-only" }];
  exporter.predictor.serve(planOf([later], { sequence: 3, policyReasons }));
  await exporter.listWhen("a later decision", ({ recommendations }) =>
    recommendations.some(({ reason }) => reason === "keeps 8"),
  );
  return exporter;
}

describe("tradewind status", () => {
  it("says what acting would have saved and added while the mode is observe", async () => {
    const exporter = await runningExporter(
      planOf([wishOf()], { mode: "observe", plannedAtMs: Date.now() - 60_000 }),
    );
    exporter.predictor.serve(planOf([wishOf()], { mode: "observe", sequence: 2 }));
    await exporter.listWhen("an hour's part", ({ regret }) => (regret?.observedSeconds ?? 0) > 50);
    const text = await printed("--scaler", exporter.http);
    expect(text).toMatch(
      /^Mode observe: in \d+ s since \S+Z acting would have saved \d\.\d{4} and added \d\.\d{4}; objective missed for \d+ s while more was recommended$/m,
    );
  });

  it("shows a table of the services, and the decision that changed each last with its reason, newest first", async () => {
    const text = await printed("--scaler", (await grown()).http);
    expect(text).toMatch(
      /^hotel: p95 250 ms, objective 200 ms\nPolicy queue, \d+ s ago: no profile yet \[cpu-only\]\n/,
    );
    expect(text).toMatch(/^service +namespace +ready +recommended +last change +level$/m);
    expect(text).toMatch(
      /^search +shop +3 +8 of 600m CPU and \S+ memory +replicas 5 → 8 at \d\d:\d\d:\d\dZ +queue$/m,
    );
    expect(text).toMatch(
      /newest first:\n {2}\d{4}-\S+Z {2}shop\/search {2}replicas 5 → 8 \(queue\): it has 60 % of the estimated queue: 5 → 8 replicas \[queue-share, replicas\]\n {2}\d{4}-\S+Z {2}shop\/rate {2}replicas 3 → 5/,
    );
  });

  it("says of one service what the newest decision says now", async () => {
    const text = await printed("--scaler", (await grown()).http, "--service", "search");
    expect(text).toContain("search (shop): 3 ready, 8 of 600m CPU and ");
    expect(text).toMatch(
      /last change {2}replicas 5 → 8 at \d{4}-\S+Z \(queue\): it has 60 % of the estimated queue: 5 → 8 replicas \[queue-share, replicas\]/,
    );
    // A code of a later release is shown as it is.
    expect(text).toMatch(/now {10}queue: keeps 8 \[carbon-limit\]/);
  });

  it("says how many requests failed, where that are more than may be late", async () => {
    const failing = { measuredLatencySeconds: 0.01, failedRatio: 0.4 };
    const { http } = await runningExporter(planOf([wishOf()], failing));
    const text = await printed("--scaler", http);
    expect(text).toMatch(/^hotel: p95 10 ms, objective 200 ms, 40 % of the requests of a route failed\n/);
  });

  it("shows the last window in the plan's own sentence, with the route named", async () => {
    const standing =
      "p95 of 'POST /book' is 777 ms, objective 200 ms (389 %), 18.0 % of 30 requests/s over it or failed";
    const { http } = await runningExporter(planOf([wishOf()], { standing, failedRatio: 0.43 }));
    expect(await printed("--scaler", http)).toMatch(
      /^hotel: p95 of 'POST \/book' is 777 ms, .* or failed\nPolicy/,
    );
  });

  it("shows sizes that nothing moves as advice", async () => {
    const advised = wishOf({
      allocation: { replicas: 5 },
      advice: { cpuCores: 0.16, memoryBytes: 248 * 2 ** 20 },
    });
    const { http } = await runningExporter(planOf([advised]));
    expect(await printed("--scaler", http)).toContain("5 (advice: 160m CPU, 248Mi memory)");
  });

  it("says once above the table why nothing is removed of several services", async () => {
    const reasons = [{ code: "data-missing", what: "traffic", missing: "654 of 2241 spans came late" }];
    const { http } = await runningExporter(
      planOf([wishOf({ reasons }), wishOf({ service: "rate", reasons }), wishOf({ service: "geo" })]),
    );
    const text = await printed("--scaler", http);
    expect(text).toContain("\nHeld: nothing is removed: 654 of 2241 spans came late\n\nservice ");
  });

  it("says how well the self time of a service was predicted, where that is known", async () => {
    const evidence = { profileErrorRatio: 0.124, profileBiasRatio: -0.03, profileCoverageRatio: 0.775 };
    const { http } = await runningExporter(
      planOf([wishOf({ evidence }), wishOf({ service: "rate", evidence: { profileErrorRatio: 0.1 } })]),
    );
    const text = await printed("--scaler", http, "--service", "search");
    expect(text.match(/prediction .*/g)).toEqual([
      "prediction   self time off by 12 %, bias -3 %, 78 % of windows in the interval for 80 %",
    ]);
  });

  it("says what a missed objective is put down to, and since when", async () => {
    const exporter = await grown();
    const summary = "p95 250 ms, objective 200 ms. Cause: 'rate', CPU.";
    const text = "Cause: 'rate', CPU.";
    const cause = { service: "rate", type: "C", sinceMs: Date.UTC(2026, 0, 1), summary, text };
    exporter.predictor.serve(planOf([wishOf()], { sequence: 4, cause }));
    await exporter.listWhen("a cause", (list) => list.cause?.service === "rate");
    const said = await printed("--scaler", exporter.http);
    expect(said).toContain("\nMissed since 2026-01-01T00:00:00Z: Cause: 'rate', CPU.");
  });

  it("lists the decisions that changed one service", async () => {
    const text = await printed("--scaler", (await grown()).http, "--service", "search");
    expect(text).not.toContain("rate");
    expect(text).toMatch(
      /in force first:\n.*keeps 8 \[carbon-limit\]\n.*it has 60 % of the estimated queue: 5 → 8 replicas \[queue-share, replicas\]\n.*share of the estimated queue\n$/,
    );
  });

  it("prints the answer as JSON for programs", async () => {
    const list = JSON.parse(await printed("--scaler", (await grown()).http, "--json")) as {
      recommendations: { service: string; setBy: object }[];
    };
    expect(list.recommendations.map(({ service }) => service)).toEqual(["rate", "search"]);
    expect(list.recommendations[1]!.setBy).toMatchObject({ replicas: { from: 5, to: 8 } });
  });

  it("names the services there are where it is asked for another", async () => {
    const { http } = await grown();
    await expect(printed("--scaler", http, "--service", "serach")).rejects.toThrow(/'serach'.*rate, search/);
  });

  it.each([
    ["nothing listens", async () => `http://127.0.0.1:${await freePort()}`, /correct --scaler/],
    [
      "the address is none",
      async () => "127.0.0.1:9812",
      /--scaler 127.0.0.1:9812.*must be an http:\/\/ or https:\/\/ address/,
    ],
  ])("says what to do where %s", async (_, scaler, message) => {
    await expect(printed("--scaler", await scaler())).rejects.toThrow(message);
  });

  it("passes on why the exporter refuses", async () => {
    const directory = mkdtempSync(join(tmpdir(), "tradewind-status-"));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const token = join(directory, "token");
    writeFileSync(token, "0123456789abcdef0123456789abcdef\n", { mode: 0o600 });
    const { http } = await runningExporter(undefined, { httpTokenFile: token });
    await expect(printed("--scaler", http)).rejects.toThrow(
      /answered 401: .*asks for a token.*; give --token-file/,
    );
    expect(await printed("--scaler", http, "--token-file", token)).toContain("No decision yet");
    await expect(printed("--scaler", http, "--token-file", `${token}.none`)).rejects.toThrow(
      /token.none cannot be read; correct --token-file/,
    );
  });

  it("says that something answered which is not the exporter, where a page comes instead of its words", async () => {
    const server = createServer((_, response) => void response.writeHead(502).end("<h1>Bad Gateway</h1>"));
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    await expect(printed("--scaler", `http://127.0.0.1:${port}`)).rejects.toThrow(
      /answered 502: overloaded or not ready; check the server, and what stands before it/,
    );
  });

  it("shows one line for each of several applications, the worst first, and the services of one that is named", async () => {
    const exporter = await runningExporter(undefined);
    exporter.predictor.behave(
      planning([
        { name: "bank", latencySeconds: 0.1, frontendReplicas: 2 },
        { name: "shop", latencySeconds: 0.3, frontendReplicas: 5 },
      ]),
    );
    await exporter.listWhen("decisions of both", ({ recommendations }) => recommendations.length === 6);
    const text = await printed("--scaler", exporter.http);
    expect(text).toMatch(/^1 of 2 applications miss the objective\n/);
    expect(text).toMatch(
      /\nshop\/shop +missed +150 % .* shop\/frontend replicas 2 → 5\nbank\/bank +met +50 % /,
    );
    expect(text).toMatch(/tradewind status --application shop, with --namespace/);
    const one = await printed("--scaler", exporter.http, "--application", "bank");
    expect(one).toMatch(/^bank\/bank: p95 100 ms, objective 200 ms$/m);
    expect(one).not.toContain("shop");
    await expect(printed("--scaler", exporter.http, "--application", "news")).rejects.toThrow(/bank\/bank/);
  });
});
