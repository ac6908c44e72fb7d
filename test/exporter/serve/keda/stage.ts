import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { exporterProcess } from "../../exporter-process.ts";
import type { ExporterProcess } from "../../exporter-process.ts";
import { fakePredictor } from "../../fake-predictor.ts";
import type { FakePredictor } from "../../fake-predictor.ts";
import { until } from "../../until.ts";
import { planOf, wishOf } from "../../wish.ts";
import { hpaReplicas } from "./hpa.ts";
import { KedaShapedClient } from "./keda.ts";
import type { KedaOptions } from "./keda.ts";
import type { Ref } from "./wire.ts";

/** What the predictor of every scenario wants for the one service, which runs fewer. */
export const WANTED = 7;
const RUNNING = 3;
const HPA = { target: 1, minReplicas: 1, maxReplicas: 20, tolerance: 0 };
const REF: Ref = { name: "so", namespace: "shop", metadata: { service: "search", scalerAddress: "x:1" } };
/** KEDA asks every few seconds; pauses between polls are shorter here, so that no moment goes unseen. */
const POLL_PAUSE_MS = 3;

export const planFor = (replicas: number, sequence: number) =>
  planOf([wishOf({ allocation: { replicas }, observed: { ...wishOf().observed, replicasReady: RUNNING } })], {
    sequence,
  });

/** A cluster in small: exporter processes behind a headless Service, a predictor, and KEDA that polls all the time. */
export interface Stage {
  readonly predictor: FakePredictor;
  readonly keda: KedaShapedClient;
  /** Addresses behind the Service's name. */
  readonly addresses: string[];
  /** Starts an exporter with a state of its own, or with the state of an earlier one. */
  start(options?: { state?: string; at?: string; flags?: readonly string[] }): Promise<Pod>;
  /** Starts one that is listed once it has a decision. */
  join(flags?: readonly string[]): Promise<Pod>;
  /** From now on KEDA polls without end, and what it gets is kept. */
  watch(): void;
  /** Waits until KEDA has polled this many times more, whatever the answers. */
  polls(count: number): Promise<void>;
  /** Waits until this many polls in a row have been answered. */
  answers(count: number): Promise<void>;
  /** Replica counts that an HPA on top would have set, each once. */
  readonly replicasSet: ReadonlySet<number>;
  /** Polls that said the workload need not run. */
  readonly inactive: () => number;
  /** How often KEDA has looked up the addresses. */
  readonly resolutions: () => number;
}

export interface Pod {
  readonly process: ExporterProcess;
  readonly address: string;
  readonly state: string;
}

export async function stage(options: KedaOptions = {}): Promise<Stage> {
  const predictor = await fakePredictor(planFor(WANTED, 1));
  const directory = await mkdtemp(join(tmpdir(), "tradewind-chaos-"));
  const addresses: string[] = [];
  let resolutions = 0;
  const resolve = (): readonly string[] => {
    resolutions += 1;
    return addresses;
  };
  const keda = new KedaShapedClient(resolve, options);
  const stopping = new AbortController();
  const replicasSet = new Set<number>();
  let inactive = 0;
  let inARow = 0;
  let pods = 0;
  let watching: Promise<void> | undefined;
  onTestFinished(async () => {
    stopping.abort();
    keda.close();
    await watching;
    await predictor.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const pollForever = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        const { value, active } = await keda.poll(REF);
        replicasSet.add(hpaReplicas(value, RUNNING, HPA));
        inactive += Number(!active);
        inARow += 1;
      } catch {
        inARow = 0;
      }
      await delay(POLL_PAUSE_MS);
    }
  };
  const start: Stage["start"] = async ({ state, at, flags = [] } = {}) => {
    pods += 1;
    const kept = state ?? join(directory, `pod-${pods}`);
    const where = at === undefined ? [] : ["--grpc-listen", at];
    const process = await exporterProcess(predictor, kept, ...where, ...flags);
    return { process, address: process.grpc, state: kept };
  };
  return {
    predictor,
    keda,
    addresses,
    replicasSet,
    inactive: () => inactive,
    resolutions: () => resolutions,
    start,
    join: async (flags = []) => {
      const pod = await start({ flags });
      await until("a decision", async () => (await pod.process.list()).recommendations[0]);
      addresses.push(pod.address);
      return pod;
    },
    watch: () => {
      watching ??= pollForever();
    },
    polls: async (count) => {
      const before = keda.counts.polls;
      await until(`${count} more polls`, () => keda.counts.polls >= before + count);
    },
    answers: async (count) => {
      inARow = 0;
      await until(`${count} answers in a row`, () => inARow >= count);
    },
  };
}
