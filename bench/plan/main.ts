import { Application } from "@tradewind/core/contract/application.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { Rng } from "@tradewind/core/rng.ts";
import { seededRng, standardNormal } from "@tradewind/core/rng.ts";
import { planApplication, PLAN_DEFAULTS } from "../../predictor/plan/application-plan.ts";
import type { Prepared } from "../../predictor/plan/prepare.ts";
import type { KnownService } from "../../predictor/plan/application-plan.ts";
import { INPUT_COUNT, NETWORK_DIRECTIONS, NETWORK_INPUT_COUNT } from "../../predictor/profile/inputs.ts";
import { ALL_ON } from "../../predictor/profile/model.ts";
import type { ProfileModel } from "../../predictor/profile/model.ts";
import { layoutOf, parameterSigns } from "../../predictor/profile/shape.ts";
import { TrainedProfile } from "../../predictor/profile/trained-profile.ts";
import type { Benchmark } from "../benchmark.ts";
import { syntheticApplication } from "./application.ts";
import { measureDecisions } from "./decide.ts";
import { percentile } from "./percentile.ts";
import { CPU_CORES, REPLICAS, windowOf } from "./window.ts";

const SIZES = [40, 1_000, 2_500];
const WARM_UP_RUNS = 20;
const HIDDEN = [16, 16, 8];
const MEMBERS = 3;

/** A model of the shape and size that training gives, with random numbers of the right signs and a small residual. */
function randomModel(service: string, cpuSecondsPerRequest: number, rng: Rng): ProfileModel {
  const shape = { inputs: NETWORK_INPUT_COUNT, hidden: HIDDEN, activation: "tanh" as const };
  const signs = parameterSigns(shape, NETWORK_DIRECTIONS, true);
  const { length, stretchWeight, baseWeight } = layoutOf(shape);
  const spans = [
    [0.05, 4],
    [1e8, 4e9],
    [0, 500],
    [0, 1],
    [0, 1],
    [0, 1],
    [0, 1],
    [0, 2],
    [-8, 0],
  ].map(([low = 0, high = 1]) => ({ low, high, neutral: (low + high) / 2 }));
  return {
    namespace: "default",
    service,
    version: 1,
    percentile: 0.95,
    trainedAtMs: 0,
    trainingRows: 1_000,
    switches: ALL_ON,
    priorWeight: 1,
    cpuSecondsPerRequest,
    baseSeconds: 3 * cpuSecondsPerRequest,
    spans,
    hidden: HIDDEN,
    activation: "tanh",
    members: Array.from({ length: MEMBERS }, () =>
      Float64Array.from({ length }, (_, at) => {
        if (at === stretchWeight || at === baseWeight) return 1;
        const draw = 0.15 * standardNormal(rng);
        return signs[at] === 0 ? draw : Math.abs(draw) * (signs[at] ?? 1);
      }),
    ),
    interval: { low: -1, high: 1 },
    errors: { rows: 100, meanAbsoluteRatio: 0.08, coverage: 0.9 },
  };
}

interface Case {
  readonly application: Application;
  readonly windowSet: WindowSet;
  readonly known: ReadonlyMap<string, KnownService>;
}

/** Share of the services that a surge brings to or over their capacity. */
const SURGED_SHARE = 0.08;

/** The objective leaves this much room over the tail before the surge. */
const ROOM = 1.15;

/**
 * An application whose objective was met until a surge brought a part of its services to or over their capacity. Its plan
 * has to find and cure them all.
 */
function makeCase(count: number, rng: Rng): Case {
  const { services, flows } = syntheticApplication(count, rng);
  const loads = services.map(() => 0.2 + 0.5 * rng());
  const surged = loads.map((utilisation) => (rng() < SURGED_SHARE ? 0.85 + 0.25 * rng() : utilisation));
  const costs = services.map(() => 0.001 + 0.009 * rng());
  const profiles = services.map(
    (service, at) => new TrainedProfile(randomModel(service, costs[at] ?? 0.001, rng)),
  );
  const at = (utilisations: readonly number[], milliseconds: number): Case => {
    const known = new Map<string, KnownService>();
    const windows = services.map((service, number) => {
      const profile = profiles[number];
      const cpuSecondsPerRequest = costs[number] ?? 0.001;
      const utilisation = utilisations[number] ?? 0;
      known.set(service, {
        ...(profile && { profile }),
        state: { cpuSecondsPerRequest, baseSeconds: 3 * cpuSecondsPerRequest },
        baseReplicas: REPLICAS,
        demandCores: Math.min(1, utilisation) * CPU_CORES * REPLICAS,
      });
      return windowOf(service, cpuSecondsPerRequest, utilisation, rng);
    });
    const application = Application.parse({ entry: services[0], objective: { milliseconds } });
    return { application, windowSet: { startMs: 0, endMs: 15_000, windows, flows: [...flows] }, known };
  };
  const calm = planOnce(at(loads, 1e9)).tailBeforeSeconds;
  return at(surged, calm * ROOM * 1e3);
}

/** One whole Prepare, as the predictor does it at the end of a window. @returns the steps it took */
function planOnce({ application, windowSet, known }: Case): Prepared {
  return planApplication({
    application,
    windowSet,
    known,
    settings: PLAN_DEFAULTS,
    mayTakeBack: true,
  });
}

export const benchmark: Benchmark = {
  summary: "time of a whole plan, from windows to sizes, for 40, 1,000 and 2,500 services on one core",
  run({ seed, quick, progress }) {
    return Promise.resolve(measure(seed, quick, progress));
  },
};

function measure(seed: number, quick: boolean, progress: (text: string) => void): Record<string, unknown> {
  const sizes = SIZES.map((services) => {
    const rng = seededRng(seed + services);
    const cases = Array.from({ length: quick ? 2 : 8 }, () => makeCase(services, rng));
    const runs = quick ? 20 : services <= 40 ? 2_000 : 300;
    progress(`${services} services: ${runs} plans`);
    const times: number[] = [];
    let steps = 0;
    for (let run = -WARM_UP_RUNS; run < runs; run += 1) {
      const each = cases[(run + WARM_UP_RUNS) % cases.length];
      if (each === undefined) continue;
      const start = performance.now();
      const taken = planOnce(each).steps.length;
      if (run < 0) continue;
      times.push(performance.now() - start);
      steps += taken;
    }
    times.sort((a, b) => a - b);
    return {
      services,
      p50Ms: percentile(times, 0.5),
      p99Ms: percentile(times, 0.99),
      n: times.length,
      steps: steps / times.length,
    };
  });
  const [small, , large] = sizes;
  const scalingExponent =
    small === undefined || large === undefined
      ? Number.NaN
      : Math.log(large.p50Ms / small.p50Ms) / Math.log(large.services / small.services);
  const decide = measureDecisions(SIZES, { seed, quick, progress });
  return { sizes, gradientUs: gradientMicros(seededRng(seed)), scalingExponent, decide };
}

/** Value and gradient of one trained profile, microseconds. */
function gradientMicros(rng: Rng): number {
  const profile = new TrainedProfile(randomModel("s0", 0.005, rng));
  const input = Float64Array.from([0.5, 5e8, 60, 0.1, 0.1, 0.1, 0.1, 0.005, 0.015]);
  const gradient = new Float64Array(INPUT_COUNT);
  let consumed = 0;
  const batch = (count: number): number => {
    const start = performance.now();
    for (let call = 0; call < count; call += 1) {
      input[2] = 40 + (call % 50);
      consumed += profile.evaluate(input, gradient) + (gradient[0] ?? 0);
    }
    return ((performance.now() - start) * 1e3) / count;
  };
  batch(20_000);
  const micros = Array.from({ length: 21 }, () => batch(10_000)).sort((a, b) => a - b);
  return Number.isFinite(consumed) ? percentile(micros, 0.5) : Number.NaN;
}
