/** `npm run -s bench -- agent --json`: what the agent costs on a node of 110 pods, beside node_exporter. */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { choosePort } from "@tradewind/local/supervise/ports.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { compileImage } from "../stage/compile.ts";
import { asInImage, ROOT } from "../stage/image.ts";
import { cpuSecondsOf, peakBytesOf, RealProcess } from "../stage/process.ts";
import { buckets, quantileBetween } from "./cost.ts";
import { SyntheticNode } from "./node.ts";

const PODS = 110;
const CONTAINERS_PER_POD = 2;
const SCRAPE_SECONDS = 15;
const WARM_UP_SECONDS = 20;
/** Every half minute five seconds of burst. */
const BURST_EVERY_SECONDS = 30;
const BURST_SECONDS = 5;
const CYCLE = "tradewind_agent_cycle_duration_seconds";

interface Phase {
  cpuRatio: number;
  rssBytesMax: number;
  cycleMsP50: number;
  cycleMsP99: number;
}

/** A process that is scraped as Prometheus would. */
interface Scraped {
  readonly pid: number;
  readonly url: string;
  readonly stop: () => void;
}

async function startAgent(folder: string, root: string): Promise<Scraped> {
  const args = ["--path.procfs", "proc", "--path.sysfs", "sys", "--path.cgroupfs", "cgroup"].map((part) =>
    part.startsWith("-") ? part : join(root, part),
  );
  const { addresses, pid, child } = await RealProcess.start("agent", ["--listen", "127.0.0.1:0", ...args], {
    ...asInImage("agent", folder),
    cwd: folder,
    isTied: false,
  });
  return { pid, url: `${addresses["http"] ?? ""}/metrics`, stop: () => child.kill() };
}

function find(name: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** node_exporter with its own defaults, on this machine's own /proc. */
async function startNodeExporter(): Promise<Scraped | undefined> {
  const path = find("prometheus-node-exporter") ?? find("node_exporter");
  if (path === undefined) return undefined;
  const { port } = await choosePort(0);
  const child = spawn(path, [`--web.listen-address=127.0.0.1:${port}`, "--log.level=error"], {
    stdio: "ignore",
  });
  return { pid: Number(child.pid), url: `http://127.0.0.1:${port}/metrics`, stop: () => child.kill() };
}

async function scrape(url: string): Promise<string> {
  const headers = { accept: "text/plain;version=0.0.4", "accept-encoding": "gzip" };
  const response = await fetch(url, { headers });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return response.text();
}

const second = async (atMs: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.max(0, atMs - performance.now())));

interface Run {
  readonly node: SyntheticNode;
  readonly agent: Scraped;
  readonly exporter: Scraped | undefined;
  readonly progress: (text: string) => void;
}

/** Lets `seconds` pass, the node living and both exporters being scraped. */
async function live(run: Run, seconds: number, bursty: boolean): Promise<void> {
  const startMs = performance.now();
  for (let at = 1; at <= seconds; at += 1) {
    await second(startMs + at * 1e3);
    run.node.advance(bursty && at % BURST_EVERY_SECONDS < BURST_SECONDS);
    if (at % SCRAPE_SECONDS === 0) {
      await scrape(run.agent.url);
      if (run.exporter !== undefined) await scrape(run.exporter.url);
    }
  }
}

async function measure(run: Run, seconds: number, bursty: boolean): Promise<Phase> {
  const before = buckets(await scrape(run.agent.url), CYCLE);
  const cpuBefore = cpuSecondsOf(run.agent.pid);
  const startMs = performance.now();
  await live(run, seconds, bursty);
  const elapsedSeconds = (performance.now() - startMs) / 1e3;
  const cpuSeconds = cpuSecondsOf(run.agent.pid) - cpuBefore;
  const after = buckets(await scrape(run.agent.url), CYCLE);
  return {
    cpuRatio: cpuSeconds / elapsedSeconds,
    rssBytesMax: peakBytesOf(run.agent.pid),
    cycleMsP50: quantileBetween(before, after, 0.5) * 1e3,
    cycleMsP99: quantileBetween(before, after, 0.99) * 1e3,
  };
}

async function run({ seed, quick, progress }: BenchmarkOptions): Promise<Record<string, unknown>> {
  const seconds = quick ? 15 : 120;
  progress(`agent: about ${Math.ceil((2 * seconds + WARM_UP_SECONDS) / 60)} min`);
  const scratch = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "tradewind-bench-"));
  // A short path, as the image's /app is: with longer ones Node.js touches 2 MB more of its binary.
  const compiled = join(tmpdir(), `tw${process.pid % 1000}`);
  const folder = compileImage("agent", ROOT, compiled);
  const node = new SyntheticNode(
    scratch,
    { pods: PODS, containersPerPod: CONTAINERS_PER_POD },
    seededRng(seed),
  );
  const agent = await startAgent(folder, scratch);
  const exporter = await startNodeExporter();
  const all: Run = { node, agent, exporter, progress };
  try {
    progress(`agent: warming up, ${node.files} files`);
    await live(all, quick ? 3 : WARM_UP_SECONDS, false);
    const exporterBefore = exporter === undefined ? 0 : cpuSecondsOf(exporter.pid);
    const startMs = performance.now();
    progress("agent: steady");
    const steady = await measure(all, seconds, false);
    progress("agent: with bursts");
    const bursty = await measure(all, seconds, true);
    const elapsedSeconds = (performance.now() - startMs) / 1e3;
    const nodeExporter =
      exporter === undefined
        ? null
        : {
            cpuRatio: (cpuSecondsOf(exporter.pid) - exporterBefore) / elapsedSeconds,
            rssBytesMax: peakBytesOf(exporter.pid),
          };
    return { pods: PODS, containers: PODS * CONTAINERS_PER_POD, steady, bursty, nodeExporter };
  } finally {
    agent.stop();
    exporter?.stop();
    node.dispose();
    rmSync(compiled, { recursive: true, force: true });
  }
}

export const benchmark: Benchmark = {
  summary: "CPU, memory and read time of the agent on a node of 110 pods, beside node_exporter (4.5 min)",
  run,
};
