import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { APPLICATION_LIST_SCHEMA } from "@tradewind/core/contract/application-list.ts";
import type { ApplicationList } from "@tradewind/core/contract/application-list.ts";
import { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { Problem } from "@tradewind/core/net/problem.ts";
import { DESCRIBED } from "@tradewind/exporter/serve/api/described.ts";
import { replay } from "@tradewind/exporter/decide/guard/guard.ts";
import { startExporter } from "@tradewind/exporter/exporter.ts";
import { describedAnswers } from "../../../described-answers.ts";
import { installed } from "../../../installed.ts";
import { answering } from "../../fake-predictor.ts";
import { runningExporter } from "../../running-exporter.ts";
import { planOf, wishOf } from "../../wish.ts";
import { bareApi } from "./bare-api.ts";

const AT_MOST_20 = { limits: { maxReplicas: 20, growReplicas: 100, shrinkRatio: 0 } };
const promtool = installed("promtool");

describe("the HTTP side", () => {
  it("describes all its routes, and answers as it describes", async () => {
    const exporter = await runningExporter(planOf([wishOf()]));
    const isOwn = ({ summary }: { summary: string }): boolean => !summary.endsWith("Asked of the predictor.");
    const answered = await describedAnswers(exporter.http, DESCRIBED, isOwn);
    for (const path of ["/v1/recommendations", "/v1/events", "/v1/changes", "/v1/calendars", "/readyz", "/"])
      expect(answered).toContain(path);
  });

  it("shows every recommendation with its age, its reason and who decided", async () => {
    const share = { code: "queue-share", queueRatio: 0.6 };
    const wish = wishOf({ allocation: { replicas: 30 }, reason: "60 % of the queue", reasons: [share] });
    const bounded = { code: "max-replicas", maxReplicas: 20 };
    const exporter = await runningExporter(planOf([wish, wishOf({ service: "rate" })]), AT_MOST_20);
    const list = await exporter.list();
    expect(list).toMatchObject({
      application: "hotel",
      objective: { percentile: 0.95, seconds: 0.2 },
      predictor: { reachable: true, policy: "queue" },
    });
    expect(list.recommendations.map(({ service }) => service)).toEqual(["rate", "search"]);
    expect(list.recommendations[1]).toMatchObject({
      replicas: 20,
      wished: { replicas: 30 },
      replicasReady: 3,
      policy: "queue",
      valid: true,
      reason: expect.stringMatching(
        /^it has 60 % of the estimated queue; the service may have at most 20/,
      ) as string,
      reasons: [
        share,
        bounded,
        { code: "replicas", fromReplicas: 3, toReplicas: 20 },
        { code: "guard-step", step: "bounds", proposedReplicas: 30 },
      ],
      guard: [{ step: "bounds", reasons: [bounded] }],
    });
  });

  it("hands out decision records that replay to what was served, and the decisions before them", async () => {
    const exporter = await runningExporter(planOf([wishOf({ allocation: { replicas: 30 } })]), AT_MOST_20);
    const [served] = (await exporter.list()).recommendations;
    const response = await fetch(`${exporter.http}/v1/decisions/${served!.decisionId}`);
    const record = DecisionRecord.parse(await response.json());
    expect(replay(record)).toEqual({ final: record.final, actions: record.actions });
    expect(record.final.replicas).toBe(served!.replicas);

    exporter.predictor.serve(planOf([wishOf()], { sequence: 2 }));
    await exporter.listWhen("the next decision", ({ recommendations }) => recommendations[0]!.replicas === 5);
    const history = await fetch(`${exporter.http}/v1/decisions?namespace=shop&service=search`);
    const { decisions } = (await history.json()) as { decisions: DecisionRecord[] };
    expect(decisions.map(({ final }) => final.replicas)).toEqual([5, 20]);
    expect((await fetch(`${exporter.http}/v1/decisions/${served!.decisionId}`)).status).toBe(200);
  });

  it("is ready as soon as GetMetricSpec can be answered, and says what is still missing", async () => {
    const exporter = await runningExporter(undefined);
    const response = await fetch(`${exporter.http}/readyz`);
    expect(response.status).toBe(200);
    const { ready, missing } = (await response.json()) as { ready: boolean; missing: string[] };
    expect(ready).toBe(true);
    expect(missing.join("; ")).toMatch(/\/v1\/plan.*no decision yet/);
    expect(await (await fetch(`${exporter.http}/healthz`)).json()).toEqual({ status: "ok" });
  });

  it.each([
    ["/v1/decisions/none", 404, "unknown-decision", /decisionId/],
    [`/v1/decisions/${"x".repeat(300)}`, 414, "bad-request", /./],
    ["/v1/decisions/..%2f..%2fetc%2fpasswd", 404, "unknown-decision", /./],
    ["/v1/decisions/%ff", 400, "bad-request", /./],
    ["/v1/decisions?namespace=shop", 400, "invalid-query", /namespace=NAME&service=NAME/],
    ["/v1/decisions?namespace=a&namespace=b&service=c", 400, "invalid-query", /./],
    ["/v1/nothing", 404, "not-found", /openapi\.json/],
  ])("answers %s with %i and JSON that says what to do", async (path, code, error, message) => {
    const exporter = await runningExporter(undefined);
    const response = await fetch(exporter.http + path);
    const problem = Problem.parse(await response.json()).error;
    expect([response.status, problem.code]).toEqual([code, error]);
    expect(problem.message).toMatch(message);
  });

  it("changes nothing: every method that could is refused", async () => {
    const exporter = await runningExporter(planOf([wishOf()]));
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      const response = await fetch(`${exporter.http}/v1/recommendations`, { method });
      expect(response.status).toBe(404);
    }
  });

  it("sends security headers with everything, errors included", async () => {
    const exporter = await runningExporter(undefined);
    for (const path of ["/", "/metrics", "/v1/recommendations", "/nothing"]) {
      const { headers } = await fetch(exporter.http + path);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("x-frame-options")).toBe("DENY");
      expect(headers.get("content-security-policy")).toMatch(/^default-src 'none'/);
      expect(headers.get("access-control-allow-origin")).toBeNull();
    }
  });

  it("serves the console, whose files and one import map are all that its policy lets a browser run", async () => {
    const exporter = await runningExporter(undefined);
    const response = await fetch(exporter.http);
    const [html, policy] = [await response.text(), response.headers.get("content-security-policy")!];
    expect(response.headers.get("content-type")).toMatch(/^text\/html/);
    const [, map = ""] = /<script type="importmap">([^]*?)<\/script>/.exec(html)!;
    const hash = createHash("sha256").update(map).digest("base64");
    expect(policy).toContain(`script-src 'self' 'sha256-${hash}';`);
    expect(policy).toContain("style-src 'self';");
    expect(html).not.toMatch(/https?:\/\/|style="|onclick|@import|url\(|<style/);
    const { imports } = JSON.parse(map) as { imports: Record<string, string> };
    const named = [...html.matchAll(/(?:src|href)="(ui\/[^"]+)"/g)].map(([, file]) => file!);
    expect(named.length).toBeGreaterThan(10);
    for (const file of [...named, ...Object.values(imports)]) {
      const asset = await fetch(new URL(file, `${exporter.http}/`));
      expect([file, asset.status]).toEqual([file, 200]);
      const again = await fetch(asset.url, { headers: { "if-none-match": asset.headers.get("etag")! } });
      expect(again.status).toBe(304);
    }
    expect((await fetch(`${exporter.http}/ui/server.ts`)).status).toBe(404);
    expect((await fetch(`${exporter.http}/ui/..%2fassets.ts`)).status).toBe(404);
  });

  it("says that predictors are reachable that know of no application, and that they are not once none answers", async () => {
    const exporter = await runningExporter(undefined);
    const none: ApplicationList = { schema: APPLICATION_LIST_SCHEMA, several: true, applications: [] };
    exporter.predictor.behave(answering(JSON.stringify(none)));
    const reachable = async (): Promise<string | undefined> =>
      /^tradewind_predictor_reachable(?:\{.*\})? ([01])$/m.exec(await exporter.metrics())?.[1];
    const empty = await exporter.listWhen("no application", ({ applications }) => applications?.length === 0);
    expect(empty.predictor).toEqual({ reachable: true });
    expect(await reachable()).toBe("1");
    await exporter.predictor.stop();
    const silent = await exporter.listWhen("the silence", ({ predictor }) => !predictor.reachable);
    expect(silent.predictor.problem).toMatch(/no predictor answers/);
    expect(await reachable()).toBe("0");
  });

  it("is not alive for its kubelet once the thread that answers KEDA is stuck", async () => {
    const api = await bareApi({ isAlive: async () => false });
    const response = await fetch(`${api.address}/healthz`);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({
      error: { code: "stuck", message: expect.stringMatching(/restart/) as string },
    });
  });

  it("refuses an address that is taken, naming it, and leaves nothing running", async () => {
    const exporter = await runningExporter(undefined);
    const taken = { http: new URL(exporter.http).host, grpc: exporter.running.addresses["grpc"]! };
    const start = (listen: string, grpcListen: string) =>
      startExporter({ listen, grpcListen, logLevel: "silent" });
    await expect(start(taken.http, "127.0.0.1:0")).rejects.toThrow(
      `cannot listen on ${taken.http}; is another scaler running?`,
    );
    await expect(start("127.0.0.1:0", taken.grpc)).rejects.toThrow(`cannot listen for KEDA on ${taken.grpc}`);
    await expect(start("9812", "127.0.0.1:0")).rejects.toThrow("'9812' is not host:port");
  });
});

describe("the metrics", () => {
  it.skipIf(promtool === undefined)(
    "are clean under promtool, also with odd service names and refusals",
    async () => {
      const odd = wishOf({ service: 'a "quoted" \\ 検索' });
      const unknown = wishOf({ service: "unknown", observed: { complete: false } });
      const exporter = await runningExporter(planOf([odd, wishOf(), unknown]));
      await exporter.client.metricSpec({});
      const text = await exporter.metrics();
      expect(execFileSync(promtool!, ["check", "metrics"], { input: text, encoding: "utf8" })).toBe("");
      expect(text).toContain(
        'tradewind_recommended_replicas{application="hotel",namespace="shop",service="a \\"quoted\\" \\\\ 検索"} 5',
      );
      expect(text).toMatch(/tradewind_guard_refusals_total\{step="missing-data"\} 1/);
      expect(text).toMatch(/tradewind_keda_rpc_duration_seconds_count\{rpc="GetMetricSpec",code="OK"\} 1/);
    },
  );

  it("count what each guard step changed, once a plan and not once a poll", async () => {
    const exporter = await runningExporter(planOf([wishOf({ allocation: { replicas: 30 } })]), AT_MOST_20);
    const seen = exporter.predictor.requests();
    await exporter.listWhen("more polls", () => exporter.predictor.requests() > seen + 3);
    expect(await exporter.metrics()).toMatch(/tradewind_guard_actions_total\{step="bounds"\} 1\n/);
  });
});
