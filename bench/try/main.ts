/**
 * `npm run -s bench -- try --json`: ten simulated applications, each with its requests in four families of metrics in a real
 * Prometheus, and what `tradewind try` makes of them: how long it takes, whether it replays or says truly why not, and whether
 * what it writes is read as it is.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import { configurationOfText } from "@tradewind/kubernetes/application/file.ts";
import type { BacktestReport } from "@tradewind/simulator/backtest/backtest.ts";
import { FOLDERS } from "@tradewind/simulator/try/files.ts";
import { calledServices } from "@tradewind/simulator/try/proposal.ts";
import { installed } from "../../test/installed.ts";
import { startPrometheus } from "../../test/predictor/sources/prometheus/metric-servers.ts";
import { push } from "../../test/predictor/sources/prometheus/remote-write.ts";
import { stretched, windowsOf } from "../../test/simulator/try/recorded-week.ts";
import { byHour, FAMILIES, recordedSeries } from "../../test/simulator/try/series.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { recordedApplications } from "./applications.ts";

const PROGRAM = join(import.meta.dirname, "..", "..", "bin", "tradewind.mjs");
const MINUTE_MS = 60_000;
/** The series end so long before they are asked for. */
const ENDED_MS = 20 * MINUTE_MS;
const MOST_SECONDS = 180;
const FIRST_SEED = 40_000;
/** An ingress controller knows no service but the entry: that is what has to be said. */
const ENTRY_ALONE = "metrics tell of the entry alone";

const OPTIONS = {
  /** Only applications and families whose name has this. */
  only: { type: "string" },
  /** Of a cluster with the CRDs of Tradewind and KEDA and a namespace `shop`: what is written is applied there by a dry run. */
  kubeconfig: { type: "string" },
} as const;

interface Answer {
  readonly entry: string;
  readonly source: string;
  readonly services: readonly string[];
  readonly verdict: string;
  readonly unreplayed?: string;
  readonly report?: BacktestReport;
}

interface Row {
  readonly application: string;
  readonly family: string;
  readonly services: number;
  readonly seconds: number;
  /** Undefined: it worked without an edit. */
  readonly problem: string | undefined;
  readonly replayed: boolean;
  /** The models are no worse than a constant. */
  readonly believed: boolean;
  /** How far off predictions of the models and of the two baselines are, in the mean, as ratios. */
  readonly off?: readonly [models: number, constant: number, persistence: number];
  readonly dryRun?: boolean;
}

async function program(
  command: string,
  args: readonly string[],
): Promise<{ readonly ok: boolean; readonly stdout: string; readonly stderr: string }> {
  const limits = { timeout: 600_000, maxBuffer: 64 * 2 ** 20 };
  return new Promise((resolve) => {
    execFile(command, args, limits, (error, stdout, stderr) =>
      resolve({ ok: error === null, stdout, stderr }),
    );
  });
}

/** Why the answer would have to be changed by hand. */
function problemOf(
  answer: Answer,
  entry: string,
  family: string,
  called: readonly string[],
): string | undefined {
  if (!answer.source.includes(family)) return `read ${answer.source}`;
  if (answer.entry !== entry) return `entry ${answer.entry} instead of ${entry}`;
  const seen = family === "nginx" ? [entry] : called;
  const missing = seen.filter((service) => !answer.services.includes(service));
  if (missing.length > 0) return `without ${missing.join(", ")}`;
  if (family === "nginx" && called.length > 1)
    return answer.unreplayed?.includes(ENTRY_ALONE) === true
      ? undefined
      : "does not say that calls are unknown";
  return answer.report === undefined ? `no replay: ${answer.unreplayed ?? ""}` : undefined;
}

async function applies(folder: string, kubeconfig: string): Promise<boolean> {
  for (const part of Object.values(FOLDERS).filter((name) => existsSync(join(folder, name)))) {
    const args = ["--kubeconfig", kubeconfig, "apply", "--dry-run=server", "-k", join(folder, part)];
    const { ok, stderr } = await program("kubectl", args);
    if (!ok) throw new Error(`kubectl apply of ${part}: ${stderr.trim()}`);
  }
  return true;
}

async function tried(
  sets: readonly WindowSet[],
  entry: string,
  [family, write]: readonly [name: string, write: (typeof FAMILIES)[string]],
  kubeconfig: string | undefined,
): Promise<Omit<Row, "application" | "family" | "services">> {
  const prometheus = installed("prometheus");
  if (prometheus === undefined) throw new Error("no prometheus is installed");
  const folder = mkdtempSync(join(tmpdir(), "tradewind-bench-try-"));
  const output = join(folder, "written");
  const server = await startPrometheus(prometheus);
  try {
    for (const part of byHour(recordedSeries(sets, write, entry), sets)) await push(server.url, part);
    await server.settled();
    const words = `try --prometheus ${server.url} --namespace shop --from 6h --output ${output} --json`;
    const beganMs = performance.now();
    const { ok, stderr, stdout } = await program(process.execPath, [PROGRAM, ...words.split(" ")]);
    const seconds = (performance.now() - beganMs) / 1e3;
    if (!ok) return { seconds, problem: stderr.trim().split("\n").at(-1), replayed: false, believed: false };
    const answer = JSON.parse(stdout) as Answer;
    const file = join(output, FOLDERS.observe, "application.yaml");
    configurationOfText(readFileSync(file, "utf8"), file);
    const slow = seconds > MOST_SECONDS ? `took ${Math.round(seconds)} s` : undefined;
    const [route] = answer.report?.routes ?? [];
    return {
      seconds,
      problem: slow ?? problemOf(answer, entry, family, calledServices(sets)),
      replayed: answer.report !== undefined,
      believed: route !== undefined && route.all.meanRatio <= route.constant.meanRatio,
      ...(route && { off: [route.all.meanRatio, route.constant.meanRatio, route.persistence.meanRatio] }),
      ...(kubeconfig !== undefined && { dryRun: await applies(output, kubeconfig) }),
    };
  } catch (error) {
    return { seconds: Number.NaN, problem: describeError(error), replayed: false, believed: false };
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure({
  progress,
  quick,
  seed,
  values,
}: BenchmarkOptions): Promise<Record<string, unknown>> {
  const nameFilter = typeof values["only"] === "string" ? values["only"] : "";
  const kubeconfig = typeof values["kubeconfig"] === "string" ? values["kubeconfig"] : undefined;
  const rows: Row[] = [];
  for (const obstacle of recordedApplications().slice(0, quick ? 1 : undefined)) {
    const { entry, name } = obstacle.plant.application;
    const families = Object.entries(FAMILIES).filter(([family]) => `${name}/${family}`.includes(nameFilter));
    if (families.length === 0) continue;
    progress(`simulating ${name}`);
    const simulated = await windowsOf(obstacle, FIRST_SEED + seed);
    for (const familyEntry of families) {
      const [family] = familyEntry;
      const endMs = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - ENDED_MS;
      const sets = stretched(simulated, MINUTE_MS, endMs);
      const result = await tried(sets, entry, familyEntry, kubeconfig);
      rows.push({
        application: name,
        family,
        services: obstacle.plant.application.services.length,
        ...result,
      });
      progress(`${name} ${family}: ${result.problem ?? "as it is"}, ${result.seconds.toFixed(1)} s`);
    }
  }
  const seconds = rows.map((row) => row.seconds).sort((a, b) => a - b);
  return {
    simulated: true,
    asItIs: rows.filter(({ problem }) => problem === undefined).length,
    replayed: rows.filter(({ replayed }) => replayed).length,
    believed: rows.filter(({ believed }) => believed).length,
    of: rows.length,
    medianSeconds: seconds[seconds.length >> 1],
    mostSeconds: seconds.at(-1),
    rows,
  };
}

export const benchmark: Benchmark = {
  summary: "tradewind try over ten applications and four families of metrics in a real Prometheus",
  options: OPTIONS,
  run: measure,
};
