import { describe, expect, it } from "vitest";
import type { Brain, Contender } from "@tradewind/simulator/contenders/contender.ts";
import { CONTENDERS } from "@tradewind/simulator/contenders/contenders.ts";
import { run } from "@tradewind/simulator/contenders/run.ts";
import { silentContender } from "@tradewind/simulator/teacher/lessons.ts";
import { COURSE } from "@tradewind/simulator/course/course.ts";
import type { ObstacleModel } from "@tradewind/simulator/course/obstacle.ts";
import { obstacleOf } from "@tradewind/simulator/course/plant.ts";
import type { Span, World } from "@tradewind/simulator/world.ts";

interface Moment {
  readonly atSeconds: number;
  readonly replicas: readonly number[];
  /** What the contender's scaler answers; undefined for UNAVAILABLE. */
  readonly answers: readonly (number | undefined)[];
}

/** Load falls to a fifth after three minutes: whoever sees that takes pods away, `auto` once the load of three minutes before is gone. */
const STEADY = COURSE.find(({ name }) => name === "steady")!;
const obstacle: ObstacleModel = {
  ...STEADY,
  warmUpSeconds: 0,
  model: {
    ...STEADY.model,
    application: {
      ...STEADY.model.application,
      services: STEADY.model.application.services.map((service) => ({ ...service, replicas: 3 })),
    },
    load: (at) => (at < 180 ? 100 : 20),
  },
};

/** What a policy said and what ran, window by window, until the given stretch ends. */
async function moments(
  change: Partial<ObstacleModel>,
  policy: string | Contender,
  { endSeconds }: Span,
): Promise<Moment[]> {
  const model = { ...(change.model ?? obstacle.model), seconds: endSeconds + 15 };
  const seen: Moment[] = [];
  await run({
    obstacle: obstacleOf({ ...obstacle, ...change, model }),
    contender: typeof policy === "string" ? CONTENDERS.find(({ name }) => name === policy)! : policy,
    actuators: "replicas",
    seed: 21,
    onWindow: (world: World, brain: Brain) => {
      seen.push({
        atSeconds: (world.nowMs - obstacle.model.startMs) / 1e3,
        replicas: world.services.map((service) => world.replicas(service)),
        answers: world.services.map((service) => {
          const [trigger] = brain.scaledObject(service)?.triggers ?? [];
          return trigger?.kind === "external" ? trigger.read(world.nowMs) : undefined;
        }),
      });
    },
  });
  return seen;
}

/** Windows that lie in a stretch as a whole: the first decision on one comes a window and its grace after the beginning. */
const inside = (all: readonly Moment[], { endSeconds, startSeconds }: Span) =>
  all.filter(({ atSeconds }) => atSeconds > startSeconds + 20 && atSeconds <= endSeconds);

/** Pods that the answers of one window are below those of the window before, all services together. */
const takenAway = (all: readonly Moment[]): number =>
  all.slice(1).reduce(
    (sum, { answers }, at) =>
      sum +
      answers.reduce<number>((pods, answer, service) => {
        const before = all[at]!.answers[service] ?? 0;
        return pods + Math.max(0, before - (answer ?? before));
      }, 0),
    0,
  );

/** While each of them takes pods away. */
const SILENCES: readonly (readonly [policy: string, silent: Span])[] = [
  ["tradewind-auto", { startSeconds: 300, endSeconds: 445 }],
  ["tradewind-queue", { startSeconds: 200, endSeconds: 345 }],
];

describe.each(SILENCES)("%s", (policy, silent) => {
  it("takes pods away while all is seen", async () => {
    const seen = inside(await moments({}, policy, silent), silent);
    expect(takenAway(seen)).toBeGreaterThan(0);
  });

  it.each([
    ["no metrics and no traces", { metricOutages: [silent], traceOutages: [silent] }],
    ["metrics that are no number", { nanWindows: [silent] }],
  ])("takes nothing away with %s", async (_case, faults) => {
    const seen = inside(await moments({ faults }, policy, silent), silent);
    expect(seen.length).toBeGreaterThan(5);
    expect(takenAway(seen)).toBe(0);
  });

  it("keeps what runs while the scaler is gone", async () => {
    const all = await moments({ faults: { scalerDown: [silent] } }, policy, silent);
    const gone = inside(all, silent);
    expect(gone.length).toBeGreaterThan(5);
    for (const { replicas } of gone) expect(replicas).toEqual(gone[0]!.replicas);
  });
});

describe("tradewind-queue without its predictor", () => {
  it("goes on with its last answers for five minutes, then has none", async () => {
    const down = { startSeconds: 150, endSeconds: 510 };
    const alone = inside(await moments({ processDown: [down] }, "tradewind-queue", down), down);
    const [first] = alone;
    for (const { answers, atSeconds } of alone) {
      expect(answers).toEqual(atSeconds < 435 ? first!.answers : answers.map(() => undefined));
    }
    expect(alone.at(-1)!.atSeconds).toBeGreaterThan(450);
  });
});

describe("a planner that drives through a silence", () => {
  it("decides as one that nobody silenced, between two windows as well", async () => {
    const silent = { startSeconds: 90, endSeconds: 210 };
    const model = { ...obstacle.model, load: (at: number): number => (at < 97 ? 40 : 160) };
    const alive = await moments({ model }, "tradewind-auto", silent);
    const driving = silentContender({ drive: "planner", lessons: () => undefined });
    expect(await moments({ model, processDown: [silent] }, driving, silent)).toEqual(alive);
    expect(alive.at(-1)!.answers).not.toEqual(alive[5]!.answers);
  });
});
