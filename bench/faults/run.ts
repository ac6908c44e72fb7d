import { setTimeout as delay } from "node:timers/promises";
import type { Fault, FaultRow } from "./fault.ts";
import { judge } from "./judge.ts";
import type { Verdict } from "./judge.ts";
import { MAX_REPLICAS } from "../stage/application.ts";
import { nowOnClock } from "../stage/poll.ts";
import { lostSince } from "../stage/stored.ts";
import type { Stored } from "../stage/stored.ts";
import type { Stage } from "../stage/stage.ts";

/** Longest wait for all to be as before. */
const RECOVERY_MS = 12_000;
/** So many times the objective's share of time in the one service that users wait for. */
const MISS_SLOWNESS = 5;
const WATCH_MS = 100;
/** Longest wait until what was added is gone: calm windows and both graces, several times over. */
const REST_MS = 30_000;
/** A call or two may fall between a process and the one that takes over. */
const SPARE_SECONDS = 1;
/** The chart's limit of the larger container. */
const MAX_RSS_BYTES = 2 ** 30;
const FATAL_LIVENESS_FAILURES = 4;
const MAX_REFUSED = 0.05;

/** Plays one fault on a stage at rest, and what comes after it. */
export async function play(fault: Fault, stage: Stage): Promise<FaultRow> {
  // What the fault before made grow is gone again: how much is grown from then is certain.
  if (fault.growsWithin !== undefined) await comesToRest(fault, stage);
  const before = stage.stored();
  // What a plan of ours made of the numbers before may not be over yet.
  const above = sumOf(stage.plans === undefined ? stage.served() : neededOf(fault, stage));
  const exportsBefore = { ...stage.load.exports };
  stage.vitals.reset();
  const fromMs = nowOnClock();
  const demand = fault.growsWithin === undefined ? undefined : new Demand(stage, above);
  let healedMs: number;
  let endings: readonly string[];
  let recovered: boolean;
  try {
    await fault.begin(stage);
    demand?.begin();
    await delay(1e3 * fault.seconds);
    endings = stage.dead().map(({ ending }) => ending);
  } finally {
    healedMs = nowOnClock();
    demand?.end();
    await fault.end(stage);
    await stage.heal();
    recovered = await stage.becomesSteady(RECOVERY_MS, healedMs);
  }
  const toMs = nowOnClock();
  const growthFromMs = (demand?.begunMs ?? 0) + 1e3 * (fault.growsWithin ?? 0);
  const verdict = judge({
    polls: stage.poller.since(fromMs),
    fromMs,
    toMs,
    needed: neededOf(fault, stage),
    mostReplicas: MAX_REPLICAS,
    ...(demand !== undefined && { growth: { fromMs: growthFromMs, toMs: healedMs, above } }),
  });
  const { firstMissing, firstWrong, ...counts } = verdict;
  const figures = {
    name: fault.name,
    ...counts,
    storedLost: lost(before, stage.stored()),
    recoveredSeconds: recovered ? round((toMs - healedMs) / 1e3) : null,
    rssBytesMax: stage.vitals.rssBytesMax,
    livenessFailures: stage.vitals.livenessFailuresMax,
    exportsRefused: refused(exportsBefore, stage.load.exports),
  };
  return {
    ...figures,
    broken: [
      ...brokenBy(fault, { ...figures, firstMissing, firstWrong }),
      ...endings.filter(() => fault.survives === true),
    ],
  };
}

/** Waits until no more is served than is needed, and no longer than that takes. */
async function comesToRest(fault: Fault, stage: Stage): Promise<void> {
  const needed = sumOf(neededOf(fault, stage));
  const endMs = nowOnClock() + REST_MS;
  while (sumOf(stage.served()) > needed && nowOnClock() < endMs) await delay(WATCH_MS);
}

/** Users who wait too long until one more replica is served, as if it had come to their help. */
class Demand {
  begunMs = Number.POSITIVE_INFINITY;
  private readonly stage: Stage;
  private readonly above: number;
  private readonly usual: number;
  private timer: NodeJS.Timeout | undefined;

  constructor(stage: Stage, above: number) {
    this.stage = stage;
    this.above = above;
    this.usual = stage.load.slowness;
  }

  begin(): void {
    this.begunMs = nowOnClock();
    this.stage.load.slowness = MISS_SLOWNESS;
    this.timer = setInterval(() => {
      if (sumOf(this.stage.served()) > this.above) this.end();
    }, WATCH_MS);
  }

  end(): void {
    clearInterval(this.timer);
    this.stage.load.slowness = this.usual;
  }
}

const sumOf = (served: ReadonlyMap<string, number>): number =>
  [...served.values()].reduce((sum, each) => sum + each, 0);
const round = (value: number): number => Math.round(value * 10) / 10;

function neededOf({ judged, leastShare = 1 }: Fault, { services }: Stage): ReadonlyMap<string, number> {
  const all = services.filter(({ name }) => judged === undefined || judged.includes(name));
  return new Map(all.map(({ name, replicas }) => [name, Math.ceil(leastShare * replicas)]));
}

const lost = (before: readonly Stored[], after: readonly Stored[]): number =>
  before.reduce((sum, each, pod) => sum + (after[pod] === undefined ? 0 : lostSince(each, after[pod])), 0);

function refused(before: Stage["load"]["exports"], after: Stage["load"]["exports"]): number {
  const sent = after.sent - before.sent;
  return sent === 0 ? 0 : Math.round((1e3 * (after.refused - before.refused)) / sent) / 1e3;
}

/** Which of the figures are not what users may expect. */
function brokenBy(fault: Fault, row: Verdict & Omit<FaultRow, "broken">): string[] {
  const { allows = {}, takesExports = false } = fault;
  const checks: readonly (readonly [boolean, string])[] = [
    [row.wrongNumbers > 0, `${row.wrongNumbers} wrong numbers, first ${row.firstWrong ?? ""}`],
    [row.scaleDowns > 0, `${row.scaleDowns} scale-downs`],
    [row.storedLost > 0 && allows.storedLost !== true, `${row.storedLost} stored rows lost`],
    [
      row.unavailableSeconds > (allows.unavailableSeconds ?? SPARE_SECONDS),
      `no number for ${row.unavailableSeconds} s, first ${row.firstMissing ?? ""}`,
    ],
    [row.recoveredSeconds === null, `not as before within ${RECOVERY_MS / 1e3} s`],
    [row.rssBytesMax > MAX_RSS_BYTES, `${Math.round(row.rssBytesMax / 2 ** 20)} MiB resident`],
    [
      row.livenessFailures >= FATAL_LIVENESS_FAILURES && allows.livenessFailures !== true,
      `${row.livenessFailures} failures of liveness in a row`,
    ],
    [
      takesExports && row.exportsRefused > MAX_REFUSED,
      `${Math.round(100 * row.exportsRefused)} % of exports refused`,
    ],
  ];
  return checks.filter(([isBroken]) => isBroken).map(([, what]) => what);
}
