import { systemClock } from "@tradewind/core/clock.ts";
import { parseWith } from "@tradewind/core/config.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import { createLog } from "@tradewind/core/log.ts";
import type { Logger } from "@tradewind/core/log.ts";
import type { Running } from "@tradewind/core/running.ts";
import { startApi } from "./api/server.ts";
import { readApplication } from "./application-file.ts";
import { Deciding } from "./deciding.ts";
import { InputsArchive } from "./inputs-archive.ts";
import { PredictorMetrics } from "./metrics.ts";
import { PredictorOptions } from "./options.ts";
import type { PredictorOptionsInput } from "./options.ts";
import { emptyState } from "./policy/state.ts";
import { Published } from "./published.ts";
import { Agents } from "./sources/agents.ts";
import { ContainerRates } from "./sources/container-rates.ts";
import { registerEndpointMetrics } from "./sources/http/metrics.ts";
import { startOtlpReceiver } from "./sources/otlp/receiver.ts";
import { WorkloadsFile } from "./sources/workloads-file.ts";
import { StateFile } from "./state-file.ts";
import { WindowClock } from "./window-clock.ts";
import { WindowBuilder } from "./window/window-builder.ts";

const MAX_CONTAINERS = 100_000;
const ARCHIVED_INPUTS = 64;
const ARCHIVED_BYTES = 64 * 1024 * 1024;
/** A plan older than this many windows is no longer what a predictor at work would say. */
const READY_WINDOWS = 4;
/** A workloads file that is missing or broken for so many windows no longer tells what runs. */
const WORKLOADS_WINDOWS = 4;

/**
 * Starts the predictor: spans, snapshots and workloads in, one plan per window out.
 * @throws TradewindError `invalid-input`, `config` or `listen`, with nothing left running
 */
export async function startPredictor(input: PredictorOptionsInput): Promise<Running> {
  const options = parseWith(PredictorOptions, input, "the predictor's options");
  const log = createLog("predictor", options.logLevel);
  const application = await readApplication(options.config);
  const started: (() => Promise<void> | void)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of started.splice(0).reverse()) await end();
  };
  try {
    return await startParts(options, application, log, started, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startParts(
  options: PredictorOptions,
  application: Application,
  log: Logger,
  started: (() => Promise<void> | void)[],
  stop: () => Promise<void>,
): Promise<Running> {
  const clock = systemClock;
  const { windowSeconds } = options;
  const graceSeconds = options.graceSeconds ?? Math.min(5, windowSeconds / 3);
  const metrics = new PredictorMetrics(clock, options.policy);
  const published = new Published(clock.nowMs());
  const archive = new InputsArchive(ARCHIVED_INPUTS, ARCHIVED_BYTES);

  const builder = new WindowBuilder({
    windowSeconds,
    namespace: application.namespace,
    traceGraceSeconds: graceSeconds,
    hashSeed: Math.floor(Math.random() * 2 ** 32),
  });
  metrics.follow(() => builder.totals());
  const rates = new ContainerRates({
    keepSeconds: 2 * windowSeconds + graceSeconds,
    maxContainers: MAX_CONTAINERS,
    onDrop: (reason) => metrics.measurementDropped(reason),
  });

  const stateFile =
    options.state === undefined ? undefined : new StateFile(options.state, log, () => metrics.stateFailed());
  const state = await stateFile?.read(application.name, application.namespace);
  if (stateFile !== undefined) started.push(async () => stateFile.flush());

  const workloads =
    options.workloads === undefined
      ? undefined
      : new WorkloadsFile({
          path: options.workloads,
          pollMs: options.workloadsPollMs,
          keepSeconds: WORKLOADS_WINDOWS * windowSeconds,
          clock,
          log,
          onRead: (result) => metrics.workloadsRead(result),
        });
  if (workloads !== undefined) {
    started.push(() => workloads.stop());
    await workloads.start();
  }

  const agents = new Agents({
    urls: options.agents,
    pollMs: options.agentPollMs,
    timeoutMs: options.agentTimeoutMs,
    clock,
    rng: Math.random,
    log,
    onSnapshot: (url, snapshot, receivedAtMs) => rates.record(url, snapshot, receivedAtMs),
  });
  registerEndpointMetrics(metrics.registry, () => agents.health());
  started.push(async () => agents.stop());
  agents.start();

  const receiver = await startOtlpReceiver({
    listen: options.otlpListen,
    onSpans: (batch) => builder.add(batch, clock.nowMs()),
    metrics,
  });
  started.push(async () => receiver.stop());

  const deciding = new Deciding({
    application,
    options: { choice: options.policy, settings: options.settings },
    state: state ?? emptyState(application.name, application.namespace),
    builder,
    rates,
    workloads: () => workloads?.current(),
    published,
    archive,
    metrics,
    clock,
    log,
    onState: (next) => stateFile?.write(next),
  });
  const windows = new WindowClock({
    windowSeconds,
    graceSeconds,
    clock,
    onClose: (startMs, endMs) => deciding.close(startMs, endMs, endMs + graceSeconds * 1e3),
  });

  const api = await startApi({
    listen: options.listen,
    published,
    archive,
    registry: metrics.registry,
    log,
    notReady: () => {
      const plan = published.plan();
      if (plan === undefined) return "no window has closed since the start";
      const ageSeconds = (clock.nowMs() - plan.plannedAtMs) / 1e3;
      return ageSeconds > READY_WINDOWS * windowSeconds
        ? `the last plan is ${ageSeconds.toFixed(0)} s old`
        : undefined;
    },
  });
  started.push(async () => api.stop());
  started.push(() => windows.stop());
  windows.start();
  log.info(
    { http: api.address, otlp: receiver.address, policy: options.policy, windowSeconds },
    "the predictor is up",
  );
  return { addresses: { http: api.address, otlp: receiver.address }, stop };
}
