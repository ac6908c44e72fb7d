import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { CPU_TOLERANCE_CORES } from "../../agent/container/probes/tolerance.ts";

/** One container's counter, second by second, and what else was going on then. */
export interface RecordedContainer {
  readonly name: string;
  /** Mean rate over each second, cores. */
  readonly rates: Float64Array;
  /** CPU time of all CPUs of the node at the same moments, s: what the agent's guard reads. */
  readonly node: Float64Array;
  /** What the agent takes for the tolerance: 5 % of the limit. */
  readonly tolerance: number;
}

const CGROUPS = "/sys/fs/cgroup";
/** Shorter recordings hold too few windows. */
const SHORTEST_SECONDS = 120;
const LEAST_TOLERANCE_CORES = 0.002;
const TICKS_PER_SECOND = 100;

interface Point {
  readonly at: number;
  readonly value: number;
}

/**
 * Reads the CPU use of the containers of a local platform (`tradewind local`) that runs on this machine once a second, for
 * so long: lines of seconds, name, CPU seconds, limit in cores; the name `node` is all CPUs.
 */
export async function recordContainers(file: string, seconds: number): Promise<void> {
  writeFileSync(file, "");
  const start = performance.now();
  for (let second = 0; second < seconds; second += 1) {
    await sleep(Math.max(0, start + second * 1e3 - performance.now()));
    appendFileSync(file, [nodeLine(), ...containerFolders().flatMap(containerLine)].join(""));
  }
}

const now = (): string => (performance.now() / 1e3).toFixed(4);

function nodeLine(): string {
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = readFileSync("/proc/stat", "utf8")
    .slice(0, 256)
    .split(/\s+/)
    .map(Number);
  return `${now()},node,${(user + nice + system + irq + softirq) / TICKS_PER_SECOND},0\n`;
}

function containerFolders(): string[] {
  const trees = [join(CGROUPS, "unified"), CGROUPS].filter((tree) => existsSync(tree));
  const platforms = trees.flatMap((tree) => children(tree, /^tradewind-local-/));
  return platforms.flatMap((platform) =>
    children(platform, /^pod/).flatMap((pod) => children(pod, /^[0-9a-f]{16}/)),
  );
}

function children(folder: string, name: RegExp): string[] {
  try {
    return readdirSync(folder)
      .filter((each) => name.test(each))
      .map((each) => join(folder, each));
  } catch {
    return [];
  }
}

/** Nothing for a container that ended meanwhile. */
function containerLine(folder: string): string[] {
  try {
    const usage = Number(/usage_usec (\d+)/.exec(readFileSync(join(folder, "cpu.stat"), "utf8"))?.[1]) / 1e6;
    return [`${now()},${folder.split("/").slice(-3).join("/")},${usage},${limitCores(folder)}\n`];
  } catch {
    return [];
  }
}

/** 0 without a limit. */
function limitCores(folder: string): number {
  const v2 = join(folder, "cpu.max");
  if (existsSync(v2)) {
    const [quota = "max", period = "1"] = readFileSync(v2, "utf8").split(" ");
    return quota === "max" ? 0 : Number(quota) / Number(period);
  }
  const v1 = folder.replace("/unified/", "/cpu/");
  const [quota = 0, period = 1] = ["cpu.cfs_quota_us", "cpu.cfs_period_us"].map((file) =>
    Number(readFileSync(join(v1, file), "utf8")),
  );
  return Math.max(0, quota / period);
}

/**
 * The containers of a recording, each on whole seconds of its own.
 * @throws TradewindError when the file is missing or holds no container that was seen for two minutes
 */
export function recordedContainers(file: string): RecordedContainer[] {
  if (!existsSync(file)) throw new TradewindError("no-data", `${file} is missing: make it with --record 10m`);
  const points = new Map<string, Point[]>();
  const limits = new Map<string, number>();
  for (const line of readFileSync(file, "utf8").trim().split("\n")) {
    const [at = Number.NaN, , value = Number.NaN, limit = Number.NaN] = line.split(",").map(Number);
    const name = line.split(",")[1] ?? "";
    if (![at, value, limit].every(Number.isFinite)) throw new TradewindError("bad-data", `${file}: ${line}`);
    points.set(name, [...(points.get(name) ?? []), { at, value }]);
    // Without a limit while it starts.
    if (limit > 0) limits.set(name, limit);
  }
  const node = points.get("node") ?? [];
  points.delete("node");
  const found = [...points].flatMap(([name, own]) => container(name, own, node, limits.get(name) ?? 0));
  if (found.length === 0)
    throw new TradewindError("bad-data", `${file} holds no container of ${SHORTEST_SECONDS} s`);
  return found;
}

function container(
  name: string,
  own: readonly Point[],
  node: readonly Point[],
  limit: number,
): RecordedContainer[] {
  const start = own[0]?.at ?? 0;
  const seconds = Math.floor((own.at(-1)?.at ?? 0) - start);
  if (seconds < SHORTEST_SECONDS) return [];
  const on = (series: readonly Point[]): Float64Array => onSeconds(series, start, seconds + 1);
  const total = on(own);
  const rates = Float64Array.from({ length: seconds }, (_, second) =>
    Math.max(0, (total[second + 1] ?? 0) - (total[second] ?? 0)),
  );
  const ofLimit = limit > 0 ? 0.05 * limit : CPU_TOLERANCE_CORES;
  const tolerance = Math.min(CPU_TOLERANCE_CORES, Math.max(LEAST_TOLERANCE_CORES, ofLimit));
  return [{ name, rates, node: on(node), tolerance }];
}

/** A series straight between its points, at whole seconds after `start`. */
function onSeconds(series: readonly Point[], start: number, count: number): Float64Array {
  let next = 1;
  return Float64Array.from({ length: count }, (_, second) => {
    const at = start + second;
    while (next < series.length - 1 && (series[next]?.at ?? 0) < at) next += 1;
    const low = series[next - 1] ?? { at, value: Number.NaN };
    const high = series[next] ?? low;
    return low.value + ((high.value - low.value) * (at - low.at)) / (high.at - low.at || 1);
  });
}
