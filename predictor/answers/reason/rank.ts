import type { Incident } from "./incident.ts";
import { judge } from "./shares.ts";
import type { Judged } from "./shares.ts";
import { SIGNAL_NAMES, signalSpec, UNUSUAL } from "./signals.ts";
import type { FaultType, Reading } from "./signals.ts";

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
   * How sure it is that users are harmed: only then is there something to explain. `resource`: what users see is not known, and a resource
   * of a service is far from usual.
   */
  readonly alarm: "none" | "resource" | "weak" | "strong";
  /** What users see: `failures` where requests fail, else `time`. */
  readonly harm: "time" | "failures";
}

/** Spreads at which a resource's signal counts in full. */
const FULL_Z = 10;
/** A response time beyond this many spreads is no chance: in 100 calm windows one is expected beyond 2.3. */
const CERTAIN = 3;
/** What a share of the harm counts without any sign of a resource. */
const WITHOUT_SIGN = 0.2;
/** What a sign counts without any share of the harm: services whose time nobody measures. */
const SIGN_ALONE = 0.1;
/** A name that only its callers know: what it answers is better told by those that measure themselves. */
const OUTSIDE = 0.3;

/** In [0, 1]. */
const strengthOf = ({ bin, z }: Reading): number =>
  Math.max(Math.min(FULL_Z, Math.max(0, z)) / FULL_Z, bin === "high" ? WITHOUT_SIGN : 0);

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
  const isCrowded = ignored !== "I" && readings.get("interferenceCpu")?.bin === "high";
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
  const scored = judged.map((one) => score(one, { harm, total, ignored })).filter(({ score }) => score > 0);
  const all = scored.reduce((sum, { score }) => sum + score, 0);
  return {
    suspects: scored
      .map((each) => Object.assign(each, { confidence: each.score / all }))
      .sort((a, b) => b.score - a.score || (a.service < b.service ? -1 : 1)),
    judged,
    alarm: alarmOf(incident, slow, failing) ?? alarmOfResource(scored),
    harm,
  };
}

function alarmOf(
  { isMissed }: Incident,
  slow: Reading | undefined,
  failing: Reading | undefined,
): Ranking["alarm"] | undefined {
  if (isMissed === true || failing?.bin === "high" || (slow?.z ?? 0) > CERTAIN) return "strong";
  if (slow === undefined) return undefined;
  return slow.bin === "high" ? "weak" : "none";
}

const alarmOfResource = (scored: readonly Pick<Suspect, "strength">[]): Ranking["alarm"] =>
  scored.some(({ strength }) => strength === 1) ? "resource" : "none";

const secondsOf = ({ excess }: Judged): number =>
  excess.ownSeconds + excess.transitCallers * excess.transitSeconds;

interface Scale {
  readonly harm: Ranking["harm"];
  readonly total: number;
  /** A type that does not explain this incident. */
  readonly ignored: FaultType | undefined;
}

function score(one: Judged, { harm, ignored, total }: Scale): Omit<Suspect, "confidence"> {
  const { excess, isOutside, name, readings } = one;
  const part = harm === "failures" ? excess.failures : secondsOf(one);
  const share = total > 0 ? part / total : 0;
  const sign = strongest(one, ignored);
  const strength = sign?.strength ?? 0;
  const byTransit = harm === "time" && excess.transitCallers * excess.transitSeconds > excess.ownSeconds;
  // A process that waits for CPU takes up requests late: that is no network.
  const type = byTransit && sign?.type !== "C" ? "N" : typeOf(one, sign, ignored);
  const value =
    (share * (WITHOUT_SIGN + (1 - WITHOUT_SIGN) * strength) + SIGN_ALONE * strength) *
    (isOutside ? OUTSIDE : 1);
  const evidence = [...readings.values()]
    .filter(({ bin }) => bin === "high")
    .sort((a, b) => strengthOf(b) - strengthOf(a));
  return { service: name, type, score: value, share, strength, evidence };
}
