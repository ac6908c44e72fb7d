import { Application } from "@tradewind/core/contract/application.ts";
import type { FlowWindow, Window, WindowSet } from "@tradewind/core/contract/window.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { decideByCost } from "../../predictor/decide/cost/decide-by-cost.ts";
import { learn } from "../../predictor/decide/cost/learn/learn.ts";
import { costWindow } from "../../predictor/decide/cost/learn/cost-window.ts";
import type { CostWindow } from "../../predictor/decide/cost/learn/cost-window.ts";
import type { CostMemory } from "../../predictor/decide/cost/learn/state.ts";
import { compileFlow, serviceIndex } from "../../predictor/models/route/call-graph.ts";
import { FlowTail } from "../../predictor/models/route/flow-tail.ts";
import { observe } from "../../predictor/decide/facts/observation.ts";
import type { DecisionContext } from "../../predictor/decide/facts/observation.ts";
import { judge } from "../../predictor/decide/facts/verdict.ts";
import { PolicySettings } from "../../predictor/decide/facts/settings.ts";
import { emptyState } from "../../predictor/decide/state.ts";
import type { NodeLeft } from "../../predictor/nodes/node-room.ts";
import type { BenchmarkOptions } from "../benchmark.ts";
import { syntheticApplication } from "./application.ts";
import { percentile } from "../statistics.ts";
import { CPU_CORES, windowOf } from "./window.ts";

/** Windows that the models learn from before the one that is decided on: a profile counts as calibrated after three. */
const LEARNING_WINDOWS = 6;
const WINDOW_MS = 15_000;
/** Share of the services that a surge brings to or over their capacity, and the objective over the latency before it. */
const SURGED_SHARE = 0.08;
const OBJECTIVE_ROOM = 1.15;
const NODE_CORES = 16;
const FREE_SHARE = 0.2;
const settings = PolicySettings.parse({});

/** Times of decisions on an application of one size, wall clock and CPU of the thread, and what they changed on average. */
export interface DecisionTimes {
  readonly services: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuP50Ms: number;
  readonly cpuP99Ms: number;
  readonly n: number;
  /** Changes of a resource of a service. */
  readonly steps: number;
  readonly changedServices: number;
}

/** Times of whole decisions of policy `auto`. */
export function measureDecisions(
  sizes: readonly number[],
  { progress, quick, seed }: Pick<BenchmarkOptions, "progress" | "quick" | "seed">,
): DecisionTimes[] {
  return sizes.map((services) => {
    const rng = seededRng(seed + services);
    const cases = Array.from({ length: quick ? 2 : 8 }, () => makeCase(services, rng));
    const runs = quick ? 10 : services <= 40 ? 2_000 : 200;
    progress(`${services} services: ${runs} decisions by cost`);
    const wall: number[] = [];
    const cpu: number[] = [];
    let changed = 0;
    let steps = 0;
    const warmUp = quick ? 2 : 16;
    for (let run = -warmUp; run < runs; run += 1) {
      const example = cases[(run + warmUp) % cases.length];
      if (example === undefined) continue;
      const used = process.threadCpuUsage();
      const start = performance.now();
      const decision = decided(example);
      const took = performance.now() - start;
      const { system, user } = process.threadCpuUsage(used);
      if (run < 0) continue;
      wall.push(took);
      cpu.push((user + system) / 1e3);
      const targets = "targets" in decision ? [...decision.targets.values()] : [];
      for (const { planned } of targets) {
        const count = planned?.steps.length ?? 0;
        steps += count;
        changed += count > 0 ? 1 : 0;
      }
    }
    wall.sort((a, b) => a - b);
    cpu.sort((a, b) => a - b);
    return {
      services,
      p50Ms: percentile(wall, 0.5),
      p99Ms: percentile(wall, 0.99),
      cpuP50Ms: percentile(cpu, 0.5),
      cpuP99Ms: percentile(cpu, 0.99),
      n: wall.length,
      steps: steps / wall.length,
      changedServices: changed / wall.length,
    };
  });
}

/** A window, and what the models have learnt from those before it. */
interface Case {
  readonly window: () => CostWindow;
  readonly memory: CostMemory | undefined;
}

/** One decision as the ladder makes it of what was observed. */
function decided({ memory, ...measured }: Case): ReturnType<typeof decideByCost> {
  const window = measured.window();
  return decideByCost(learn(memory, window), window);
}

/** Calm windows with changing load, then a surge that brings a part of the services to or over their capacity. */
function makeCase(count: number, rng: Rng): Case {
  const { flows, services } = syntheticApplication(count, rng);
  const calm = services.map(() => 0.2 + 0.5 * rng());
  const surged = calm.map((each) => (rng() < SURGED_SHARE ? 0.85 + 0.25 * rng() : each));
  const costs = services.map(() => 0.001 + 0.009 * rng());
  const setAt = (number: number, utilisations: readonly number[]): WindowSet => {
    const startMs = number * WINDOW_MS;
    const endMs = startMs + WINDOW_MS;
    const windows = services.map((service, at) => ({
      ...windowOf(service, costs[at] ?? 0.001, utilisations[at] ?? 0, rng),
      startMs,
      endMs,
    }));
    return { startMs, endMs, windows, flows: measuredFlows(flows, windows) };
  };
  const before = Array.from({ length: LEARNING_WINDOWS }, (_, number) =>
    setAt(
      number,
      calm.map((each) => each * (0.7 + 0.4 * rng())),
    ),
  );
  const slowest = setAt(0, calm).flows.reduce((most, { latency }) => Math.max(most, latency.p95Seconds), 0);
  const application = Application.parse({
    entry: services[0],
    objective: { milliseconds: 1e3 * OBJECTIVE_ROOM * slowest },
    mode: "act",
    resize: "limits",
  });
  let memory: CostMemory | undefined;
  for (const set of before) memory = learn(memory, costWindowOf(application, set)());
  return { window: costWindowOf(application, setAt(LEARNING_WINDOWS, surged)), memory };
}

/** The flows with the latency that their services' self times come to. */
function measuredFlows(flows: readonly FlowWindow[], windows: Window[]): FlowWindow[] {
  const index = serviceIndex(windows.map(({ service }) => service));
  const own = Float64Array.from(windows, ({ ownLatency }) => ownLatency?.p95Seconds ?? 0);
  const meanOverTail = new Float64Array(windows.length).fill(1 / 3);
  const set = { startMs: 0, endMs: WINDOW_MS, windows, flows: [] };
  return flows.map((flow) => {
    const graph = compileFlow(flow, set, index);
    if (graph === undefined) return flow;
    const tail = new FlowTail(graph, own, meanOverTail);
    const p95Seconds = tail.tailSeconds;
    const latency = {
      count: 500,
      meanSeconds: tail.meanSeconds,
      p50Seconds: 0.9 * tail.meanSeconds,
      p95Seconds,
      p99Seconds: 1.3 * p95Seconds,
    };
    return { ...flow, latency };
  });
}

function costWindowOf(application: Application, windowSet: WindowSet): () => CostWindow {
  const state = emptyState(application.name, application.namespace);
  const context: DecisionContext = {
    application,
    settings,
    state,
    windowSet,
    nowMs: windowSet.endMs,
  };
  const verdict = judge(windowSet.flows, application, settings);
  const observations = observe(context);
  const nodes = nodesOf(windowSet.windows);
  return () => costWindow(context, observations, verdict, { nodes });
}

/** Nodes of 16 cores, a fifth of each free, with the pods of neighbouring services side by side. */
function nodesOf(windows: readonly Window[]): NodeLeft[] {
  const pods = windows.flatMap(({ containers, service }) => containers.map(() => service));
  const onEach = Math.floor((NODE_CORES * (1 - FREE_SHARE)) / CPU_CORES);
  return Array.from({ length: Math.ceil(pods.length / onEach) }, (_, at) => {
    const here = Object.entries(Object.groupBy(pods.slice(at * onEach, (at + 1) * onEach), (each) => each));
    return {
      name: `node-${at}`,
      leftCores: NODE_CORES * FREE_SHARE,
      takesPods: true,
      pods: here.map(([service, some = []]) => ({ service, pods: some.length })),
    };
  });
}
