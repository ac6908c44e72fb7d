import { seededRng } from "@tradewind/core/values/rng.ts";
import { combinations, numberOf } from "./contender.ts";
import type { Contender } from "./contender.ts";
import { numbersBrain, sloRatio } from "./numbers.ts";

/** A quota may fall to this share at once, and only if what is proposed is at most `DOWN_FROM` of it. */
const LOWEST_SHARE = 0.5;
const DOWN_FROM = 0.9;
/** Throttling of more than so many times its target raises the quota. */
const ALPHA = 3;
/** Samples of use that a quota has to cover; the published controller keeps 50 of 0.1 s. */
const KEPT = 20;

/**
 * Autothrottle's Captain for one service: holds the share of CFS periods with throttling near a target by moving the CPU quota.
 * Its windows are the simulator's 15 s where the published one takes 1 s.
 */
export class Captain {
  quota: number;
  private before: number;
  private margin = ALPHA;
  private loweredLast = false;
  private readonly usage: number[] = [];

  constructor(quota: number) {
    this.quota = quota;
    this.before = quota;
  }

  /** @param throttled share of periods, [0, 1] @param usedCores mean over the window */
  step(throttled: number, usedCores: number, target: number): number {
    this.usage.push(usedCores);
    if (this.usage.length > KEPT) this.usage.shift();
    this.margin = Math.max(0, this.margin + throttled - target);
    if (throttled > ALPHA * target && this.loweredLast) {
      // The step down was a mistake: what it took is given back twice.
      this.quota = 2 * this.before - this.quota;
      this.loweredLast = false;
      return this.quota;
    }
    this.before = this.quota;
    this.loweredLast = false;
    if (throttled > ALPHA * target) this.quota *= 1 + throttled - ALPHA * target;
    else this.lower();
    return this.quota;
  }

  private lower(): void {
    const proposed = Math.max(...this.usage) + this.margin * this.deviation();
    if (proposed > DOWN_FROM * this.quota) return;
    this.quota = Math.max(LOWEST_SHARE * this.quota, proposed);
    this.loweredLast = true;
  }

  private deviation(): number {
    const count = this.usage.length;
    const mean = this.usage.reduce((sum, each) => sum + each, 0) / count;
    const squares = this.usage.reduce((sum, each) => sum + (each - mean) ** 2, 0);
    return count < 2 ? 0 : Math.sqrt(squares / (count - 1));
  }
}

/** Targets that the Tower chooses from, as published. */
const LADDER = [0, 0.02, 0.04, 0.06, 0.1, 0.15, 0.2, 0.25, 0.3];
const TOWER_MS = 60_000;

interface Arm {
  cost: number;
  tries: number;
}

/**
 * The Tower: once a minute, for the load there is, the throttling target with the lowest cost so far: cores while the objective
 * is met, and more than any cores while it is missed. One target for all services in place of one for each of two groups.
 */
class Tower {
  private readonly arms = new Map<string, Arm>();
  private readonly ladder: readonly number[];

  constructor(highest: number) {
    this.ladder = LADDER.filter((target) => target <= highest + 1e-9);
  }

  learn(bin: number, target: number, cost: number): void {
    const key = `${bin} ${target}`;
    const { cost: before, tries } = this.arms.get(key) ?? { cost: 0, tries: 0 };
    this.arms.set(key, { cost: before + (cost - before) / (tries + 1), tries: tries + 1 });
  }

  choose(bin: number, chance: number, ticket: number): number {
    if (chance > ticket)
      return this.ladder[Math.floor((ticket / chance) * this.ladder.length)] ?? this.ladder[0] ?? 0;
    // What was never tried counts as a little worse than nothing, so that the ladder is climbed from its careful end.
    const costOf = (target: number): number =>
      this.arms.get(`${bin} ${target}`)?.cost ?? Number.MAX_SAFE_INTEGER;
    return this.ladder.reduce((best, target) => (costOf(target) < costOf(best) ? target : best));
  }
}

export const AUTOTHROTTLE: Contender = {
  name: "autothrottle-like",
  about:
    "Autothrottle's two levels at windows of 15 s: a throttling target for all services by a bandit, CPU quotas by Captains; " +
    "where only replicas move, a quota is so many whole pods.",
  defaults: { highestTarget: 0.1, explore: 0.1 },
  grid: combinations({ highestTarget: [0.02, 0.06, 0.1, 0.3], explore: [0, 0.1] }),
  supports: () => true,
  start: (setting, parameters) => {
    const rng = seededRng(setting.seed);
    const tower = new Tower(numberOf(parameters, "highestTarget"));
    const captains = new Map<string, Captain>();
    let target = 0;
    let judged = { untilMs: 0, cores: 0, missed: false, bin: 0 };
    return numbersBrain(setting, (facts, windowSet, nowMs) => {
      const ratio = sloRatio(setting, windowSet);
      const rate = windowSet.flows.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0);
      judged.missed ||= ratio !== undefined && ratio > 1;
      judged.cores = facts.reduce((sum, { podCores, replicas }) => sum + podCores * replicas, 0);
      if (nowMs >= judged.untilMs) {
        // A cost above any number of cores, so that a target that misses is left at once.
        tower.learn(judged.bin, target, judged.missed ? 1e6 : judged.cores);
        const bin = Math.round(Math.log2(Math.max(1, rate)) * 2);
        target = tower.choose(bin, numberOf(parameters, "explore"), rng());
        judged = { untilMs: nowMs + TOWER_MS, cores: judged.cores, missed: false, bin };
      }
      const sized = setting.actuators !== "replicas";
      const wanted = new Map<string, { replicas?: number; cpuCores?: number }>();
      for (const { podCores, readyPods, replicas, service, spec, throttledRatio, usedCores } of facts) {
        if (throttledRatio === undefined || usedCores === undefined) continue;
        const captain = captains.get(service) ?? new Captain(replicas * podCores);
        captains.set(service, captain);
        const most = spec.maxReplicas * (sized ? spec.cpu.maxCores : podCores);
        const quota = Math.min(most, captain.step(throttledRatio, usedCores, target));
        captain.quota = quota;
        wanted.set(
          service,
          sized ? { cpuCores: quota / Math.max(1, readyPods) } : { replicas: Math.ceil(quota / podCores) },
        );
      }
      return wanted;
    });
  },
};
