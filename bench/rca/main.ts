import { mean } from "@tradewind/core/values/statistics.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { rank } from "@tradewind/predictor/answers/reason/rank.ts";
import { rootsOf } from "@tradewind/predictor/answers/reason/verdict.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import type { CalmCase, RecordedCase, RecordedSet } from "./case.ts";
import { largeIncident } from "./large.ts";
import { localSets } from "./local/both-applications.ts";
import { liveFigures } from "./local/cases.ts";
import { nezha } from "./nezha.ts";
import { petshop } from "./petshop.ts";
import { rcaeval } from "./rcaeval.ts";
import { RIVALS } from "./rivals.ts";
import type { Rival } from "./rivals.ts";
import { builtIn, consulted } from "./reasoner.ts";

type Methods = Readonly<Record<string, Rival>>;
const METHODS: Methods = { "built-in": builtIn, ...RIVALS };

const REPEATS = 20;
const SIZES = [50, 500, 2_500] as const;

const rounded = (value: number): number => Number(value.toPrecision(3));

function timesOf(task: () => void, repeats: number): { readonly msP50: number; readonly msP99: number } {
  const times = Array.from({ length: repeats }, () => {
    const began = performance.now();
    task();
    return performance.now() - began;
  }).sort((a, b) => a - b);
  const at = (share: number): number =>
    times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? 0;
  return { msP50: rounded(at(0.5)), msP99: rounded(at(0.99)) };
}

/** Rank of the true cause, from 1; infinite where it is not named. Ties are as the method orders them. */
function placeOf(method: Rival, { incident, rootCause }: RecordedCase): number {
  const at = method(incident).indexOf(rootCause);
  return at < 0 ? Number.POSITIVE_INFINITY : at + 1;
}

function judged(
  name: string,
  method: Rival,
  cases: readonly RecordedCase[],
  repeats: number,
): Record<string, unknown> {
  const places = cases.map((each) => placeOf(method, each));
  const within = (most: number): number =>
    mean(
      places.map((place) => (place <= most ? 1 : 0)),
      0,
    );
  const all = (): void => {
    for (const { incident } of cases) method(incident);
  };
  const { msP50, msP99 } = timesOf(all, repeats);
  return {
    name,
    ac1: rounded(within(1)),
    ac3: rounded(within(3)),
    avg5: rounded(mean([1, 2, 3, 4, 5].map(within))),
    mrr: rounded(
      mean(
        places.map((place) => 1 / place),
        0,
      ),
    ),
    msP50: rounded(msP50 / cases.length),
    msP99: rounded(msP99 / cases.length),
  };
}

function setOf(
  name: string,
  cases: readonly RecordedCase[],
  repeats: number,
  methods: Methods = METHODS,
): Record<string, unknown> {
  const kinds = [...new Set(cases.map(({ kind }) => kind))].sort();
  return {
    name,
    cases: cases.length,
    methods: Object.entries(methods).map(([method, rival]) => judged(method, rival, cases, repeats)),
    builtInByKind: kinds.map((kind) => {
      const ones = cases.filter((each) => each.kind === kind);
      const places = ones.map((each) => placeOf(builtIn, each));
      return {
        kind,
        cases: ones.length,
        first: places.filter((place) => place === 1).length,
        amongThree: places.filter((place) => place <= 3).length,
      };
    }),
    builtInAbstains: cases.filter(({ incident }) => rootsOf(rank(incident)).length === 0).length,
  };
}

const calmOf = (name: string, calm: readonly CalmCase[]): Record<string, unknown> => ({
  name,
  windows: calm.length,
  named: calm.filter(({ incident }) => rootsOf(rank(incident)).length > 0).length,
});

/** Every set, its part for the report alone, and all sets together. */
function parts(sets: readonly RecordedSet[]): (readonly [string, readonly RecordedCase[]])[] {
  const report = (cases: readonly RecordedCase[]): RecordedCase[] =>
    cases.filter(({ part }) => part === "report");
  const all = sets.flatMap(({ cases }) => cases);
  const named = [...sets.map(({ cases, name }) => [name, cases] as const), ["overall", all] as const];
  return named.flatMap(([name, cases]): (readonly [string, readonly RecordedCase[]])[] => {
    const reported = report(cases);
    const isSplit = reported.length > 0 && reported.length < cases.length;
    return isSplit
      ? [
          [name, cases],
          [`${name}/report`, reported],
        ]
      : [[name, cases]];
  });
}

/** What a language model says of all incidents; undefined where none is named. */
async function askedOf(
  sets: readonly RecordedSet[],
  values: BenchmarkOptions["values"],
  progress: BenchmarkOptions["progress"],
): Promise<Awaited<ReturnType<typeof consulted>> | undefined> {
  const text = (name: string): string | undefined => {
    const value = values[name];
    return typeof value === "string" ? value : undefined;
  };
  const [url, model] = [text("reasoner-url"), text("reasoner-model")];
  if (url === undefined && model === undefined) return undefined;
  if (url === undefined || model === undefined)
    throw new Error(
      "--reasoner-url and --reasoner-model go together: an OpenAI-compatible server and a model of it",
    );
  const timeoutSeconds = Number(text("reasoner-timeout"));
  const cases = sets.flatMap((set) => set.cases);
  return consulted(cases, { url, model, timeoutSeconds, keyFile: text("reasoner-key-file") }, progress);
}

async function run({ progress, quick, seed, values }: BenchmarkOptions): Promise<Record<string, unknown>> {
  if (values["local"] === true) return runLocal({ progress, quick, seed, values });
  progress("rca: reading the recordings");
  const sets = [petshop(), nezha(), ...rcaeval()];
  const repeats = quick ? 2 : REPEATS;
  const rng = seededRng(seed);
  const calm = sets.filter(({ calm }) => calm.length > 0);
  const asked = await askedOf(sets, values, progress);
  return {
    ...(asked && { reasoner: asked.figures }),
    sets: parts(sets).map(([name, cases]) => {
      progress(`rca: ${name}`);
      return setOf(name, cases, repeats, { ...METHODS, ...asked?.methods });
    }),
    calm: [
      ...calm.map(({ calm, name }) => calmOf(name, calm)),
      calmOf(
        "overall",
        calm.flatMap(({ calm }) => calm),
      ),
      calmOf(
        "overall/report",
        calm.flatMap(({ calm }) => calm.filter(({ part }) => part === "report")),
      ),
    ],
    scale: SIZES.map((services) => {
      progress(`rca: ${services} services`);
      const incident = largeIncident(services, rng);
      const { msP50, msP99 } = timesOf(() => rank(incident), repeats);
      return { services, simulated: true, msP50, msP99 };
    }),
  };
}

/** Faults injected into the applications of the local platform, with real processes, in real time. */
async function runLocal({
  progress,
  quick,
  seed,
  values,
}: BenchmarkOptions): Promise<Record<string, unknown>> {
  const count = quick ? 2 : Number(values["cases"]);
  progress(
    `rca: ${count} faults into each of two applications, about ${Math.ceil((count * 80) / 60) + 2} min`,
  );
  const sets = await localSets(count, seed);
  const repeats = quick ? 2 : REPEATS;
  const recorded = sets.flatMap((set) => set.recorded);
  return {
    sets: [...sets.map((set) => [set.name, set.recorded] as const), ["overall", recorded] as const]
      .filter(([, cases]) => cases.length > 0)
      .map(([name, cases]) => setOf(name, cases, repeats)),
    calm: [
      calmOf(
        "overall",
        sets.flatMap(({ calm }) => calm),
      ),
    ],
    live: sets.map((set) => liveFigures(set)),
  };
}

export const benchmark: Benchmark = {
  summary:
    "root causes of recorded incidents, or with --local of injected faults: the built-in reasoner against simple rules",
  options: {
    /** Instead of the recordings. */
    local: { type: "boolean", default: false },
    /** Faults into each application. */
    cases: { type: "string", default: "32" },
    /** A language model that is asked about the recordings, too. */
    "reasoner-url": { type: "string" },
    "reasoner-model": { type: "string" },
    "reasoner-key-file": { type: "string" },
    /** Seconds that an answer may take. */
    "reasoner-timeout": { type: "string", default: "120" },
  },
  run,
};
