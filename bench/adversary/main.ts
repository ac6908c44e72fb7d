import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Client } from "@grpc/grpc-js";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { attack } from "./attack.ts";
import { climb } from "./climb.ts";
import type { Target, Worst } from "./climb.ts";
import { doorsOf } from "./doors.ts";
import { objectTargets } from "./objects.ts";
import { startStage } from "./stage.ts";

const DEFAULT_SECONDS = 600;
const QUICK_SECONDS = 90;
const DEFAULT_ATTACK_SECONDS = 60;
const QUICK_ATTACK_SECONDS = 5;
const PROGRESS_MS = 2_000;

/**
 * What strangers can make a process work: for every route and call of real processes on loopback, and for every object of Kubernetes that a
 * tenant writes, the request of up to 256 kB (the object of up to 1 MB) that costs the most CPU, as a search finds that climbs by CPU per byte.
 * `worst` is the most expensive of all. `attack` is what KEDA sees for --attack N seconds while the most expensive ones are sent again and again.
 */
export const benchmark: Benchmark = {
  summary: "the most CPU that one request of 256 kB or one object can cost, searched for --seconds N",
  options: { seconds: { type: "string" }, only: { type: "string" }, attack: { type: "string" } },
  run,
};

async function run({ progress, quick, seed, values }: BenchmarkOptions): Promise<Record<string, unknown>> {
  const seconds = Number(values["seconds"] ?? (quick ? QUICK_SECONDS : DEFAULT_SECONDS));
  const attackSeconds = Number(values["attack"] ?? (quick ? QUICK_ATTACK_SECONDS : DEFAULT_ATTACK_SECONDS));
  if (!(seconds > 0) || !(attackSeconds >= 0))
    throw new RangeError("--seconds must be more than 0, and --attack 0 or more seconds");
  const only = String(values["only"] ?? "");
  await using undo = new AsyncDisposableStack();
  progress("starting an agent, a predictor and a scaler, and waiting for the first plan");
  const stage = await startStage(undo);
  const clients: Client[] = [];
  undo.defer(() => {
    for (const client of clients) client.close();
  });
  const isWanted = ({ name }: { readonly name: string }): boolean => name.includes(only);
  const doors = doorsOf(stage, clients).filter(isWanted);
  const objects = objectTargets().filter(isWanted);
  const count = doors.length + objects.length;
  const shares = [...doors, ...objects].reduce((sum, target) => sum + target.shares, 0);
  if (count === 0) throw new RangeError(`no door and no object has '${only}' in its name`);
  const startMs = performance.now();
  let [done, saidMs] = [0, Number.NEGATIVE_INFINITY];
  const all = async <Attempt>(targets: readonly Target<Attempt>[]): Promise<Worst[]> => {
    const found: Worst[] = [];
    for (const target of targets) {
      done += 1;
      const endMs = performance.now() + (1e3 * seconds * target.shares) / shares;
      const worst = await climb(target, seededRng(seed + done), endMs);
      found.push(worst);
      if (performance.now() - saidMs < PROGRESS_MS && done < count) continue;
      saidMs = performance.now();
      const left = Math.max(0, seconds - (saidMs - startMs) / 1e3);
      progress(
        `${done} of ${count}, ${left.toFixed(0)} s left; ${worst.name}: ${worst.worstCpuSeconds} s of CPU`,
      );
    }
    return found.sort((a, b) => b.worstCpuSeconds - a.worstCpuSeconds);
  };
  const found = { doors: await all(doors), objects: await all(objects) };
  const both = [...found.doors, ...found.objects];
  if (values["json"] !== true) for (const line of table(both)) progress(line);
  const isAttacked = attackSeconds > 0 && found.doors.length > 0;
  if (isAttacked) progress(`sending the most expensive requests again and again for ${attackSeconds} s`);
  const attacked = isAttacked && { attack: await attack(stage, found.doors, attackSeconds) };
  return {
    seconds,
    ...found,
    ...attacked,
    worst: Math.max(...both.map(({ worstCpuSeconds }) => worstCpuSeconds)),
  };
}

function table(found: readonly Worst[]): string[] {
  const rows = found.map(
    ({ attempts, bytes, name, worstCpuSeconds }) =>
      `${name.padEnd(40)} ${worstCpuSeconds.toFixed(4).padStart(10)} ${String(bytes).padStart(9)} ${String(attempts).padStart(9)}`,
  );
  return [
    `${"".padEnd(40)} ${"CPU, s".padStart(10)} ${"bytes".padStart(9)} ${"attempts".padStart(9)}`,
    ...rows,
  ];
}
