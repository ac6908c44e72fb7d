import { agreementOf } from "@tradewind/core/students/train-student.ts";
import type { Agreement, Pair } from "@tradewind/core/students/train-student.ts";
import { liveRun } from "@tradewind/simulator/teacher/live-lessons.ts";
import type { LiveLesson, LiveRun } from "@tradewind/simulator/teacher/live-lessons.ts";
import { deployedPlant } from "@tradewind/simulator/teacher/plants.ts";

/** Moments from here on are judged: before, students have learnt for 80 minutes. s */
const JUDGED_FROM_SECONDS = 4_800;

/** Agreement on moments, each by the student that was in use when it came. */
export function agreementInUse(lessons: readonly LiveLesson[]): Agreement {
  const parts = [...Map.groupBy(lessons, ({ parameters }) => parameters)].map(([parameters, own]) => ({
    acting: own.filter(({ actions }) => actions.some((action) => Math.abs(action) > 0.5)).length,
    own: agreementOf(parameters, own),
  }));
  const [pairs, acting] = [lessons.length, parts.reduce((sum, each) => sum + each.acting, 0)];
  const share = (of: (part: (typeof parts)[number]) => number, all: number): number =>
    parts.reduce((sum, part) => sum + of(part), 0) / Math.max(1, all);
  return {
    pairs,
    mse: share(({ own }) => own.mse * own.pairs, pairs),
    agreement: share(({ own }) => own.agreement * own.pairs, pairs),
    agreementWhenActing:
      acting === 0 ? undefined : share((part) => (part.own.agreementWhenActing ?? 0) * part.acting, acting),
  };
}

export interface DeployedService {
  /** `all`, or the seed of the deployment and the service. */
  readonly service: string;
  readonly inUse: Agreement;
  /** On the same moments. */
  readonly shipped: Agreement;
}

export interface Deployments {
  readonly services: readonly DeployedService[];
  /** Times that students were taught, by cause. */
  readonly taught: LiveRun["taught"];
}

/** Students that go on learning in deployments of their own, on later moments than those that they learnt from. Simulated. */
export async function deployments(
  seeds: readonly number[],
  shipped: Float64Array,
  progress: (text: string) => void,
): Promise<Deployments> {
  const later: LiveLesson[] = [];
  const taught: Record<string, number> = {};
  for (const seed of seeds) {
    const made = await liveRun({ obstacle: deployedPlant(seed), actuators: "replicas", seed });
    for (const [cause, times] of Object.entries(made.taught)) taught[cause] = (taught[cause] ?? 0) + times;
    for (const lesson of made.lessons) {
      if (lesson.atSeconds < JUDGED_FROM_SECONDS) continue;
      later.push({ ...lesson, service: `${seed}/${lesson.service}` });
    }
    progress(`deployment ${seed}: students learnt, ${later.length} later moments so far`);
  }
  const groups = [["all", later] as const, ...Map.groupBy(later, ({ service }) => service)];
  const services = groups.map(([service, own]) => ({
    service,
    inUse: agreementInUse(own),
    shipped: agreementOf(shipped, own as readonly Pair[]),
  }));
  return { services, taught };
}
