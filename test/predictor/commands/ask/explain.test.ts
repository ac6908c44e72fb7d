import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { Explanation } from "@tradewind/core/contract/explanation.ts";
import { TranscriptLine } from "@tradewind/core/contract/transcript.ts";
import { Plan } from "@tradewind/core/contract/plan.ts";
import { startPredictor } from "@tradewind/predictor/predictor.ts";
import type { Running } from "@tradewind/core/process/running.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitUntil } from "../../../wait-until.ts";
import { RunningApplication } from "../../running-application.ts";

const PROGRAM = join(import.meta.dirname, "..", "..", "..", "..", "bin", "tradewind.mjs");

async function tradewind(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, "explain", ...args]);
  return stdout;
}

describe("a predictor whose application becomes slow", () => {
  let application: RunningApplication;
  let running: Running;
  let timer: NodeJS.Timeout;
  /** Of `GET /`, nearly all of it spent in geo; the objective is 100 ms. */
  let totalMs = 60;
  const url = (path: string): string => `${running.addresses["http"]}${path}`;
  const latest = async (): Promise<Explanation | undefined> => {
    const answer = await fetch(url("/v1/explain"));
    const body: unknown = await answer.json();
    return answer.status === 200 ? Explanation.parse(body) : undefined;
  };
  const until = async (fits: (explanation: Explanation) => boolean): Promise<Explanation> => {
    let found: Explanation | undefined;
    await waitUntil(async () => {
      const now = await latest();
      if (now !== undefined && fits(now)) found = now;
      return found !== undefined;
    }, 40_000);
    return found!;
  };

  beforeAll(async () => {
    application = await RunningApplication.start();
    application.podUsageCores = 0.1;
    running = await startPredictor({
      config: application.config,
      listen: "127.0.0.1:0",
      otlpListen: "127.0.0.1:0",
      agents: [application.agent.url],
      workloads: application.workloads,
      windowSeconds: 0.5,
      graceSeconds: 0.1,
      agentPollMs: 100,
      agentTimeoutMs: 300,
      workloadsPollMs: 30,
      logLevel: "silent",
    });
    timer = setInterval(() => {
      void application.sendTraces(running.addresses["otlp"]!, 10, totalMs).catch(() => undefined);
    }, 60);
  }, 30_000);

  afterAll(async () => {
    clearInterval(timer);
    await running.stop();
    await application.stop();
  });

  it("explains nothing while the objective is met, then names the service that became slow", async () => {
    const calm = await until(({ isMissed, pastWindows }) => !isMissed && pastWindows >= 22);
    expect(calm.causes).toEqual([]);
    const metrics = await (await fetch(url("/metrics"))).text();
    expect(metrics).toContain('tradewind_explanations_total{verdict="named"} 0');

    totalMs = 400;
    const missed = await until(({ causes, isMissed }) => isMissed && causes.length > 0);
    expect(missed.causes[0]!.service).toBe("geo");
    expect(missed.measuredLatencySeconds).toBeGreaterThan(0.1);
    const own = missed.causes[0]!.evidence.find(({ signal }) => signal === "selfTimeP95");
    expect(own!.value).toBeGreaterThan(2 * own!.baseline!);
  }, 60_000);

  it("says it in the plan for readers, in metrics, in the command, and again by its time", async () => {
    const missed = await until(({ causes, isMissed }) => isMissed && causes.length > 0);
    await waitUntil(async () => {
      const plan = Plan.parse(await (await fetch(url("/v1/plan"))).json());
      return plan.cause?.service === "geo";
    }, 10_000);
    const metrics = await (await fetch(url("/metrics"))).text();
    expect(metrics).toMatch(/^tradewind_explanations_total\{verdict="named"\} [1-9]/m);
    expect(metrics).toMatch(
      /^tradewind_cause_confidence_ratio\{application="\w+",service="geo",type="\w"\} [01]/m,
    );

    const predictor = ["--predictor", running.addresses["http"]!];
    expect(await tradewind(...predictor)).toMatch(/Cause: 'geo'/);
    const lines = (await tradewind(...predictor, "--transcripts", "--cause", "geo:X")).trim().split("\n");
    expect(TranscriptLine.parse(JSON.parse(lines[0]!)).labels?.source).toBe("operator");
    expect(await tradewind(...predictor, "--at", "1s", "--cause", "geo:C")).toMatch(/Cause: 'geo'/);
    expect(await tradewind(...predictor, "--accuracy")).toContain(
      "built-in, judged by operator: first 1 of 1",
    );
    const all = (await tradewind(...predictor, "--transcripts")).trim().split("\n");
    const labelled = all.map((line) => TranscriptLine.parse(JSON.parse(line))).filter(({ labels }) => labels);
    expect(labelled.map(({ labels }) => labels!.source)).toEqual(["operator"]);
    expect(labelled[0]!.reward!.format).toBeCloseTo(0, 9);
    const judged = await (await fetch(url("/metrics"))).text();
    expect(judged).toMatch(
      /^tradewind_causes_judged_total\{reasoner="built-in",source="operator",verdict="first"\} 1/m,
    );
    await expect(tradewind(...predictor, "--cause", "geo:C")).rejects.toThrow("--at");
    const json: unknown = JSON.parse(await tradewind(...predictor, "--json", "--at", "1s"));
    expect(Math.abs(Explanation.parse(json).atMs - missed.atMs)).toBeLessThan(60_000);
    await expect(tradewind(...predictor, "--at", "2d")).rejects.toThrow("no missed objective was explained");
    await expect(tradewind(...predictor, "--service", "nobody")).rejects.toThrow("says nothing of 'nobody'");
  }, 30_000);

  it("refuses a time that is none", async () => {
    expect((await fetch(url("/v1/explain?at=yesterday"))).status).toBe(400);
  });
});
