import { median } from "@tradewind/core/values/statistics.ts";
import type { Candidate, Incident } from "./incident.ts";
import { judge } from "./shares.ts";
import type { Judged } from "./shares.ts";
import { read, SIGNAL_NAMES, signalSpec, UNUSUAL } from "./signals.ts";
import type { FaultType, Reading, Series, SignalName } from "./signals.ts";

/** A service and what it may be short of. */
export interface Suspect {
  readonly service: string;
  readonly type: FaultType;
  /** In [0, 1]: comparable within one incident only. */
  readonly score: number;
  /** Score over the sum of all scores. */
  readonly confidence: number;
  /** Share of the excess time, or of the failures, that begins with it; of what users notice where that is more. */
  readonly share: number;
  /** How far its strongest sign of a resource is from usual, in [0, 1]. */
  readonly strength: number;
  /** The signals that speak for it, strongest first. */
  readonly evidence: readonly Reading[];
}

export interface Ranking {
  /** Most suspicious first; one entry for each service that anything speaks against. */
  readonly suspects: readonly Suspect[];
  readonly judged: readonly Judged[];
  /**
   * How sure it is that users are harmed: only then is there something to explain. `resource`: what users see is as ever, or not known, and
   * a resource of a service is far from usual.
   */
  readonly alarm: "none" | "resource" | "weak" | "strong";
  /** Services whose resources are so. */
  readonly clear: ReadonlySet<string>;
  /** What users see: `failures` where requests fail, else `time`. */
  readonly harm: "time" | "failures";
}

/** Spreads at which a resource's signal counts in full. */
const FULL_Z = 10;
/** From so many times the usual load on, what a service takes grows with it. */
const MORE_LOAD = 1.5;
/** A response time beyond this many spreads is no chance: in 100 calm windows one is expected beyond 2.3. */
const CERTAIN = 3;
/** What a share of the harm counts without any sign of a resource. */
const WITHOUT_SIGN = 0.2;
/** What a sign counts without any share of the harm: services whose time nobody measures. */
const SIGN_ALONE = 0.2;
/** What its own time counts, far from usual. */
const LATE_ALONE = 0.05;
/** A name that only its callers know: what it answers is better told by those that measure themselves. */
const OUTSIDE = 0.3;

const partOfFull = (z: number): number => Math.min(FULL_Z, Math.max(0, z)) / FULL_Z;

/** In [0, 1]. What is high, and was so before, says little of what changed. */
const strengthOf = ({ baseline, bin, z }: Reading): number =>
  Math.max(partOfFull(z), bin === "high" && (baseline === undefined || z > 0) ? WITHOUT_SIGN : 0);

/** The farthest that a resource is above usual, in spreads. */
function resourceZ(readings: Judged["readings"]): number {
  let most = 0;
  for (const { signal, z } of readings.values())
    if (signalSpec(signal).role === "resource") most = Math.max(most, z);
  return most;
}

interface Sign {
  readonly type: FaultType;
  readonly strength: number;
}

/** What began with a new version comes from it: then it wins over signs that are as strong. */
function strongest(one: Judged, ignored: FaultType | undefined): Sign | undefined {
  let best: Sign | undefined;
  for (const reading of one.readings.values()) {
    const { role, type } = signalSpec(reading.signal);
    if (role !== "resource" || type === undefined || type === ignored || reading.bin !== "high") continue;
    const strength = strengthOf(reading);
    const than = best?.strength ?? 0;
    if (strength > than || (strength === than && type === "V")) best = { type, strength };
  }
  return best;
}

const INTERFERENCE = SIGNAL_NAMES.filter((name) => signalSpec(name).type === "I");
/** Fewer crowded services do not tell whether those beside a slow one are slow, too. */
const FEW_CROWDED = 3;

/** Interference slows what shares the node: where most crowded services are as fast as ever, it slows none of them. */
function interferenceExplains(judged: readonly Judged[]): boolean {
  const crowded = judged.filter(
    ({ readings }) =>
      readings.has("selfTimeP95") && INTERFERENCE.some((name) => readings.get(name)?.bin === "high"),
  );
  const slow = crowded.filter(({ readings }) => readings.get("selfTimeP95")?.bin === "high");
  return crowded.length < FEW_CROWDED || 2 * slow.length >= crowded.length;
}

/** Utilisation under which the CPU that is short is that of others. */
const OWN_CPU_IDLE = 0.6;

/**
 * Where nothing of it shows a sign, the time passes outside of what it uses: in what it calls that sends no telemetry. CPU that
 * is short under more load, each request taking as much as ever, is a matter of the load; CPU that is short while it uses
 * little of its own is a matter of others, unless each request takes more than ever.
 */
function typeOf({ readings }: Judged, sign: Sign | undefined, ignored: FaultType | undefined): FaultType {
  if (sign === undefined) return "X";
  if (sign.type !== "C") return sign.type;
  const others = readings.get("interferenceCpu");
  // A node that is always crowded is no news.
  const isMore = others?.baseline === undefined || others.value > others.baseline;
  const isCrowded = ignored !== "I" && others?.bin === "high" && isMore;
  const { bin: eachRequest } = readings.get("cpuSecondsPerRequest") ?? {};
  const isIdle = (readings.get("cpuUtilisation")?.value ?? 1) < OWN_CPU_IDLE;
  if (isCrowded && isIdle && eachRequest !== "high") return "I";
  const { z: load = 0 } = readings.get("requestRate") ?? {};
  return load > CERTAIN && eachRequest === "medium" ? "L" : "C";
}

const sumOf = (judged: readonly Judged[], of: (one: Judged) => number): number =>
  judged.reduce((sum, one) => sum + of(one), 0);

/** Ranks the services of an incident by how much of the harm begins with them and by what they show (ORACL sheet, 2.7). */
export function rank(incident: Incident): Ranking {
  const judged = judge(incident);
  const failures = sumOf(judged, ({ excess }) => excess.failures);
  const seconds = sumOf(judged, secondsOf);
  const entry = judged.find(({ name }) => name === incident.entry);
  const slow = entry?.readings.get("responseP95") ?? entry?.readings.get("selfTimeP95");
  const failing = entry?.readings.get("errorRatio");
  const shown = (failing?.bin === "high" && failures > 0) || seconds === 0 ? "failures" : "time";
  const harm = incident.harm === "failures" && failures > 0 ? "failures" : shown;
  // Of few requests all may fail: that is no share of what is usual of all.
  const isKnown = incident.harm === harm && harm === "failures";
  const usual = isKnown ? 0 : UNUSUAL * ((harm === "failures" ? failing : slow)?.spread ?? 0);
  const total = Math.max(usual, harm === "failures" ? failures : seconds);
  const ignored = interferenceExplains(judged) ? undefined : "I";
  const clear = clearlyShort(incident);
  const mostZ = judged.reduce((most, { readings }) => Math.max(most, resourceZ(readings)), 0);
  const scored = judged
    .map((one) => score(one, { harm, total, ignored, mostZ }))
    .filter(({ score }) => score > 0);
  const all = scored.reduce((sum, { score }) => sum + score, 0);
  return {
    suspects: scored
      .map((each) => Object.assign(each, { confidence: each.score / all }))
      .sort((a, b) => b.score - a.score || (a.service < b.service ? -1 : 1)),
    judged,
    clear,
    alarm: alarmOf(incident, slow, failing, clear),
    harm,
  };
}

/** Users first; else, where what they see is as ever or nobody measures it, a resource that is clearly short. */
function alarmOf(
  { isMissed }: Incident,
  slow: Reading | undefined,
  failing: Reading | undefined,
  clear: ReadonlySet<string>,
): Ranking["alarm"] {
  if (isMissed === true || failing?.bin === "high" || (slow?.z ?? 0) > CERTAIN) return "strong";
  if (clear.size > 0) return "resource";
  return slow?.bin === "high" ? "weak" : "none";
}

/** Signals that grow with the load and shrink with the number of containers, so that they alone say little. */
const WITH_LOAD: ReadonlySet<string> = new Set(["cpuUtilisation", "cpuCores", "throttledRatio"]);

/**
 * Services of which a resource is far from usual in most of the windows since the onset, and by more than the load is: one burst is no
 * evidence, and neither is a busy hour.
 */
function clearlyShort({ candidates, leastPast }: Incident): Set<string> {
  const typical = (series: Series | undefined): Reading | undefined =>
    series === undefined || series.now.length === 0
      ? undefined
      : read({ ...series, now: [median(Array.from(series.now))] }, leastPast);
  const isShort = ({ series: all }: Candidate): boolean => {
    const of = (name: SignalName): Reading | undefined => typical(all.find(({ signal }) => signal === name));
    const far = all.filter(({ signal }) => {
      const { role, type } = signalSpec(signal);
      return role === "resource" && type !== "V";
    });
    const clear = far.flatMap((each) => typical(each) ?? []).filter(({ z }) => z >= FULL_Z);
    if (clear.length === 0) return false;
    const { baseline: rate = 0, value: load = 0 } = of("requestRate") ?? {};
    const each = of("cpuSecondsPerRequest");
    const isBusy = each === undefined ? load > MORE_LOAD * rate && rate > 0 : each.z < CERTAIN;
    return !isBusy || clear.some(({ signal }) => !WITH_LOAD.has(signal));
  };
  return new Set(candidates.filter((one) => isShort(one)).map(({ name }) => name));
}

const secondsOf = ({ excess }: Judged): number =>
  excess.ownSeconds + excess.transitCallers * excess.transitSeconds;

interface Scale {
  readonly harm: Ranking["harm"];
  readonly total: number;
  /** A type that does not explain this incident. */
  readonly ignored: FaultType | undefined;
  /** The farthest that a resource of any service is from usual, in spreads. */
  readonly mostZ: number;
}

function score(one: Judged, { harm, ignored, mostZ, total }: Scale): Omit<Suspect, "confidence"> {
  const { excess, isOutside, name, readings } = one;
  const part = harm === "failures" ? excess.failures : secondsOf(one);
  const share = total > 0 ? part / total : 0;
  const sign = strongest(one, ignored);
  const byTransit = harm === "time" && excess.transitCallers * excess.transitSeconds > excess.ownSeconds;
  // A process that waits for CPU takes up requests late: that is no network.
  const isNetwork = byTransit && sign?.type !== "C";
  const type = isNetwork ? "N" : typeOf(one, sign, ignored);
  const slower = isNetwork ? excess.transitCallers * partOfFull(excess.transitZ) : 0;
  const strength = Math.max(sign?.strength ?? 0, slower);
  // Of several that are far beyond all that is usual, the farthest.
  const far = slower >= strength || mostZ === 0 ? 1 : Math.log1p(resourceZ(readings)) / Math.log1p(mostZ);
  const { z: lateness = 0 } = readings.get("selfTimeP95") ?? readings.get("responseP95") ?? {};
  const value =
    (share * (WITHOUT_SIGN + (1 - WITHOUT_SIGN) * strength) +
      SIGN_ALONE * strength * far +
      LATE_ALONE * partOfFull(lateness)) *
    (isOutside || (strength === 0 && harm === "failures" && excess.isUntold) ? OUTSIDE : 1);
  const evidence = [...readings.values()]
    .filter(({ bin }) => bin === "high")
    .sort((a, b) => strengthOf(b) - strengthOf(a));
  return { service: name, type, score: value, share, strength, evidence };
}
