/**
 * `node bench/console/pictures.ts` makes docs/images/console-*.png again: the local platform runs for four minutes, Chromium opens each
 * view of its scaler, and a backtest of that run is shown at the end.
 */
import { execFile, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import type { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { chromium } from "playwright-core";

const ROOT = join(import.meta.dirname, "..", "..");
const PROGRAM = join(ROOT, "bin", "tradewind.mjs");
const IMAGES = join(ROOT, "docs", "images");
/** Of views that need no more, and of long lists. */
const LOW = { width: 1_400, height: 620 };
const RUN_SECONDS = 240;
const SIZE = { width: 1_400, height: 740 };

const directory = await mkdtemp(join(tmpdir(), "tradewind-pictures-"));
const state = join(directory, "run");
const children: ChildProcess[] = [];
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const platform = start("local", "--ports", "free", "--for", `${RUN_SECONDS}s`, "--state", state);
  const ended = once(platform, "exit");
  const url = await scalerOf();
  await missed(url);
  for (const view of ["overview", "incident"]) await picture(url, view, view);
  await picture(url, "overview", "overview-dark", "dark");
  await picture(url, "services", "services-narrow", "light", { width: 500, height: 900 });
  for (const view of ["services", "map", "timeline"]) await picture(url, view, view, "light", LOW);
  await picture(url, "what-if?load=1.5&set=search~3~~", "what-if");
  await picture(url, "plans", "approvals");
  await ended;
  await backtest();
} finally {
  for (const child of children) child.kill("SIGTERM");
  await browser.close();
  await rm(directory, { recursive: true, force: true });
}

function start(...args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ["ignore", "ignore", "inherit"] });
  children.push(child);
  return child;
}

async function scalerOf(): Promise<string> {
  for (;;) {
    const text = await readFile(join(state, "addresses.json"), "utf8").catch(() => "{}");
    const { exporter: url } = JSON.parse(text) as { exporter?: string };
    if (url !== undefined) return url;
    await delay(500);
  }
}

/** Waits until the objective is missed and a window more, so that there is something to see; or until most of the run is over. */
async function missed(url: string): Promise<void> {
  // The surge begins when three tenths of the run are over.
  await delay(310 * RUN_SECONDS);
  const untilMs = performance.now() + 250 * RUN_SECONDS;
  let isMissed = false;
  while (!isMissed && performance.now() < untilMs) {
    await delay(1_000);
    const list = (await (await fetch(`${url}/v1/recommendations`)).json()) as RecommendationList;
    const { measuredLatencySeconds = 0, objective } = list;
    isMissed = objective !== undefined && measuredLatencySeconds > objective.seconds;
  }
  await delay(3_000);
}

async function picture(
  url: string,
  view: string,
  name: string,
  colorScheme: "light" | "dark" = "light",
  viewport = SIZE,
): Promise<void> {
  const context = await browser.newContext({ viewport, colorScheme });
  const page = await context.newPage();
  await page.goto(`${url}/#/${view}`);
  await delay(2_500);
  await page.screenshot({ path: join(IMAGES, `console-${name}.png`) });
  await context.close();
}

async function backtest(): Promise<void> {
  const report = join(directory, "report.json");
  const args = ["backtest", "--application", join(state, "application.yaml"), "--state", state, "--json"];
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...args], { maxBuffer: 2 ** 26 });
  await writeFile(report, stdout);
  const port = 20_000 + (process.pid % 10_000);
  start(
    "exporter",
    "--listen",
    `127.0.0.1:${port}`,
    "--grpc-listen",
    "127.0.0.1:0",
    "--backtest-report",
    report,
  );
  await delay(4_000);
  await picture(`http://127.0.0.1:${port}`, "backtest", "backtest");
}
