import { median } from "@tradewind/core/values/statistics.ts";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import type { Page } from "playwright-core";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { load, startExporterProcess } from "../scaler/scaler-process.ts";
import { serveLargeApplication } from "./large-application.ts";
import { openViewers } from "./viewers.ts";

const SERVICES = 2_500;
const VIEWERS = 10;
const STEADY_PER_SECOND = 1_000;
const BROWSER = "/usr/bin/chromium";

/**
 * A real scaler process with 2,500 services and a plan every 15 s. `firstPaintMs` and `rowsMs`: from the start of the navigation to
 * the first paint, and to the first rows of Services. `interactionMs`: from a key in the filter, and from a scroll, to the
 * frame that shows it; medians, and the highest. `getMetricsP99Ms`: without viewers, and with ten that follow the stream and
 * read all that a page does; runs with and without take turns.
 */
export const benchmark: Benchmark = {
  summary: "console with 2,500 services: first paint, interaction, GetMetrics with ten viewers",
  run,
};

async function run({ quick, progress, seed }: BenchmarkOptions): Promise<Record<string, unknown>> {
  if (!existsSync(BROWSER))
    throw new Error(`there is no ${BROWSER}; install it with 'apt-get install chromium'`);
  await using undo = new AsyncDisposableStack();
  const state = await mkdtemp(join(tmpdir(), "tradewind-bench-console-"));
  undo.defer(() => rm(state, { recursive: true, force: true }));
  const predictor = await serveLargeApplication(SERVICES, seed);
  undo.defer(predictor.stop);
  const scaler = await startExporterProcess(predictor.url, state);
  undo.defer(scaler.stop);
  await scaler.decided(SERVICES);
  const paints = await paintsOf(scaler.http, quick ? 1 : 7, progress);
  const seconds = quick ? 3 : 20;
  const p99s = { alone: [] as number[], viewed: [] as number[] };
  for (let turn = 0; turn < (quick ? 1 : 3); turn += 1) {
    for (const viewers of [0, VIEWERS]) {
      progress(`GetMetrics for ${seconds} s with ${viewers} viewers`);
      const watching = openViewers(scaler.http, viewers);
      const job = { address: scaler.grpc, objects: SERVICES, seed, seconds, perSecond: STEADY_PER_SECOND };
      const { failed, p99Ms } = await load(job, () => undefined);
      await watching.close();
      if (failed > 0) throw new Error(`${failed} calls failed: the figures would say nothing`);
      (viewers === 0 ? p99s.alone : p99s.viewed).push(p99Ms);
    }
  }
  return {
    services: SERVICES,
    viewers: VIEWERS,
    ...paints,
    getMetricsP99Ms: {
      withoutViewers: round(median(p99s.alone)),
      withViewers: round(median(p99s.viewed)),
      turns: p99s,
    },
  };
}

async function paintsOf(url: string, times: number, progress: (text: string) => void) {
  await using browser = await chromium.launch({ executablePath: BROWSER, args: ["--no-sandbox"] });
  const [firstPaints, rows, interactions] = [[] as number[], [] as number[], [] as number[]];
  for (let time = 0; time < times; time += 1) {
    progress(`opening Services, ${time + 1} of ${times}`);
    const context = await browser.newContext({ viewport: { width: 1_400, height: 900 }, bypassCSP: true });
    const page = await context.newPage();
    await page.goto(`${url}/#/services`);
    await page.waitForSelector(".grid .line");
    const seen = await page.evaluate(() => ({
      firstPaintMs: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.NaN,
      rowsMs: performance.now(),
    }));
    firstPaints.push(seen.firstPaintMs);
    rows.push(seen.rowsMs);
    for (let at = 0; at < 5; at += 1)
      interactions.push(await typed(page, `service-${at}`), await scrolled(page, at));
    await context.close();
  }
  const high = Math.max(...interactions);
  return {
    firstPaintMs: round(median(firstPaints)),
    rowsMs: round(median(rows)),
    interactionMs: round(median(interactions)),
    interactionMaxMs: round(high),
  };
}

/** In the page: the time from putting a text into the filter to the frame after the rows that fit it. */
const typed = async (page: Page, text: string): Promise<number> =>
  page.evaluate(async (wanted) => {
    const page = globalThis as unknown as Browser;
    const filter = page.document.getElementById("filter");
    const startMs = performance.now();
    filter.value = wanted;
    filter.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((resolve) => page.requestAnimationFrame(() => setTimeout(resolve)));
    return performance.now() - startMs;
  }, text);

const scrolled = async (page: Page, at: number): Promise<number> =>
  page.evaluate(async (step) => {
    const page = globalThis as unknown as Browser;
    const grid = page.document.querySelector(".grid");
    const startMs = performance.now();
    grid.scrollTop = 4_000 * (step + 1);
    await new Promise((resolve) => page.requestAnimationFrame(() => setTimeout(resolve)));
    return performance.now() - startMs;
  }, at);

/** What of a browser is used: the benchmark is checked without the types of one. */
interface Browser {
  readonly document: {
    getElementById(id: string): EventTarget & { value: string };
    querySelector(selector: string): { scrollTop: number };
  };
  requestAnimationFrame(then: () => void): void;
}

const round = (ms: number): number => Math.round(ms * 1e3) / 1e3;
