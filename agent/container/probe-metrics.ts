import { Table } from "../expose/table.ts";
import type { SignalState } from "../sampling/sampler.ts";
import type { ProbeName } from "./probes/probe.ts";

const COLUMNS = [
  {
    name: "tradewind_agent_container_probes",
    help: "Probes of containers being sampled, by kind.",
    kind: "gauge",
  },
  {
    name: "tradewind_agent_container_probe_samples_total",
    help: "Samples of containers taken.",
    kind: "counter",
  },
  {
    name: "tradewind_agent_container_probe_misses_total",
    help: "Samples of containers that differed from the held value by more than the tolerance.",
    kind: "counter",
  },
  {
    name: "tradewind_agent_container_probe_cost_seconds_total",
    help: "Time spent on samples, as an upper bound of their CPU time.",
    kind: "counter",
  },
  {
    name: "tradewind_agent_container_probe_sampling_interval_seconds",
    help: "Mean time between samples of a container now asked for by the sampling controller.",
    kind: "gauge",
  },
] as const;

interface Totals {
  samples: number;
  misses: number;
  costSeconds: number;
}

function add(totals: Totals, state: SignalState): void {
  totals.samples += state.samplesTotal;
  totals.misses += state.missesTotal;
  totals.costSeconds += state.costSecondsTotal;
}

/** How containers are sampled, by kind of probe: the living at scrape time and what the departed had counted. */
export class ProbeMetrics {
  readonly table = new Table(COLUMNS);
  readonly #departed = new Map<ProbeName, Totals>();

  depart(name: ProbeName, state: SignalState | undefined): void {
    const totals = this.#departed.get(name) ?? { samples: 0, misses: 0, costSeconds: 0 };
    if (state !== undefined) add(totals, state);
    this.#departed.set(name, totals);
  }

  refresh(living: Iterable<readonly [ProbeName, SignalState | undefined]>): void {
    const sums = new Map<ProbeName, Totals & { probes: number; intervalSeconds: number }>();
    for (const [name, totals] of this.#departed) sums.set(name, { ...totals, probes: 0, intervalSeconds: 0 });
    for (const [name, state] of living) {
      if (state === undefined) continue;
      const sum = sums.get(name) ?? {
        samples: 0,
        misses: 0,
        costSeconds: 0,
        probes: 0,
        intervalSeconds: 0,
      };
      sums.set(name, sum);
      add(sum, state);
      sum.probes += 1;
      sum.intervalSeconds += state.intervalSeconds;
    }
    for (const [name, { samples, misses, costSeconds, probes, intervalSeconds }] of sums) {
      this.table
        .row(name, { probe: name })
        .values.set([
          probes,
          samples,
          misses,
          costSeconds,
          probes === 0 ? Number.NaN : intervalSeconds / probes,
        ]);
    }
  }
}
