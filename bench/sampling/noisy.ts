import { exponential, seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { addBursts, between, filled, floored, ornsteinUhlenbeck } from "./synthetic.ts";
import { addPlateau } from "./trace.ts";
import type { Episode, Trace } from "./trace.ts";

/** Second-to-second noise of the signals, in parts of the tolerance. */
const NOISE_EPS = [0.2, 0.5, 1, 3];
const LEVEL = 0.4;

interface Shape {
  readonly rates: Float64Array;
  readonly episodes: readonly Episode[];
}

/** Climbs from 0.2 to 0.6 cores in 90 s and drops. */
function sawtooth(seconds: number, rng: Rng): Shape {
  const phase = rng();
  return { rates: filled(seconds, (second) => 0.2 + 0.4 * ((second / 90 + phase) % 1)), episodes: [] };
}

/** A new level of 0.2 to 1.2 cores every two minutes on average. */
function steps(seconds: number, rng: Rng): Shape {
  const rates = new Float64Array(seconds);
  for (let from = 0; from < seconds;) {
    const to = from + exponential(rng, 120);
    addPlateau(rates, from, to, between(rng, 0.2, 1.2));
    from = to;
  }
  return { rates, episodes: [] };
}

/** Between 0.4 and 0.52 cores every 100 s on average: less than the guard sees among the others. */
function smallSteps(seconds: number, rng: Rng): Shape {
  const rates = filled(seconds, () => LEVEL);
  for (let from = 0; from < seconds; from += exponential(rng, 100)) {
    const to = from + exponential(rng, 100);
    addPlateau(rates, from, to, 0.12);
    from = to;
  }
  return { rates, episodes: [] };
}

/** Bursts of 5 to 60 s and 0.3 to 1.5 cores every five minutes on average. */
function bursts(seconds: number, rng: Rng): Shape {
  const rates = filled(seconds, () => LEVEL);
  const episodes = addBursts(rates, rng, 300);
  return { rates, episodes };
}

const SHAPES: Record<string, (seconds: number, rng: Rng) => Shape> = {
  level: (seconds) => ({ rates: filled(seconds, () => LEVEL), episodes: [] }),
  "sawtooth 90 s": sawtooth,
  "ornstein-uhlenbeck 60 s": (seconds, rng) => ({
    rates: ornsteinUhlenbeck(seconds, rng, 0.1, 60).map((x) => x + LEVEL),
    episodes: [],
  }),
  steps,
  "small steps": smallSteps,
  bursts,
};

/** Five shapes, each with noise of 0.5, 1 and 3 tolerances from second to second. */
export function noisyTraces(seed: number, seconds: number, tolerance: number): Trace[] {
  return Object.entries(SHAPES).flatMap(([shape, make], index) =>
    NOISE_EPS.map((noiseEps, which) => {
      const rng = seededRng(seed * 1000 + 100 + 10 * index + which);
      const { rates, episodes } = make(seconds, rng);
      const noisy = rates.map((rate) => rate + noiseEps * tolerance * standardNormal(rng));
      return { name: `${shape}, noise ${noiseEps} eps`, structured: true, rates: floored(noisy), episodes };
    }),
  );
}
