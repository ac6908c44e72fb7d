import type { ServiceModel, StepModel } from "../../model/application-model.ts";
import { bimodal, fixed } from "../../model/distribution.ts";
import type { Distribution } from "../../model/distribution.ts";
import { wave } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";
import { call, cpu, MEBIBYTE, service, shop, to, withWork, work } from "../../applications/course-shop.ts";
import { calmThenStep } from "./flat-calm.ts";

/** A container that may use 8 ms of the CPU in a CFS period of 100 ms. */
const SMALL: Partial<ServiceModel> = {
  container: {
    cpuRequestCores: 0.05,
    cpuLimitCores: 0.08,
    memoryRequestBytes: 32 * MEBIBYTE,
    memoryLimitBytes: 128 * MEBIBYTE,
  },
  memory: { baseBytes: 16 * MEBIBYTE, perRequestBytes: 16 * 1_024, leakBytesPerRequest: 0 },
};

export const SMALL_LIMITS = obstacle({
  name: "small-limits",
  about:
    "The wave on containers of 80 millicores with a fifth of the work: a stall of the CFS quota is longer than all work of a request.",
  load: wave(20, 100, 600),
  application: shop((each) => ({ ...withWork(each, 0.2), ...SMALL })),
  family: "small-limits",
});

const PROBE = "GET /readyz";

/** Reading the request's bytes, before its handler is called. */
const read = (meanMs: number): StepModel => ({ kind: "cpu", time: work(meanMs), span: "before" });
/** Writing the answer, sending spans, and now and then a garbage collection. */
const finish = (time: Distribution): StepModel => ({ kind: "cpu", time, span: "after" });

/** A program on two threads that uses 2 millicores without any request. */
const program = (
  name: string,
  operations: ServiceModel["operations"],
  other: Partial<ServiceModel>,
): ServiceModel => ({
  ...service(name, [], {
    ...SMALL,
    threads: 2,
    begunFirst: true,
    queueLimit: Infinity,
    replicas: 1,
    ...other,
  }),
  operations: { ...operations, housekeeping: [cpu(fixed(0.2))] },
  periodic: [{ operation: "housekeeping", everySeconds: 0.1 }, ...(other.periodic ?? [])],
});

/** 0.7 ms and 0.27 ms in the mean. Shares and sizes of collections are such that fixed sizes miss the objective about as often as measured. */
const FRONTEND_FINISH = finish(bimodal(0.58, 3, 0.05));
const BACKEND_FINISH = finish(bimodal(0.072, 8, 0.025));

/**
 * Podinfo on a real node: by cgroup 2.0 ms of CPU a request in the frontend and 0.8 ms in the backend, of which their spans hold 0.3 and
 * 0.13 ms. The kubelet asks every pod of the entry whether it is ready.
 */
export const BLIND_SPANS = obstacle({
  name: "blind-spans",
  about:
    "Spans hold a seventh of a request's CPU and none of its wait before the handler, on containers of 80 millicores; after ten minutes of exactly 15 requests a second come four times as many.",
  ...calmThenStep(15),
  application: {
    name: "podinfo",
    entry: "frontend",
    services: [
      program(
        "frontend",
        {
          serve: [read(1), cpu(work(0.15)), call(to("backend")), cpu(work(0.15)), FRONTEND_FINISH],
          probe: [read(1), cpu(work(0.3)), FRONTEND_FINISH],
        },
        { periodic: [{ operation: "probe", everySeconds: 2, route: PROBE }] },
      ),
      program(
        "backend",
        { serve: [read(0.4), cpu(work(0.13)), BACKEND_FINISH] },
        { balancing: "kept-connections" },
      ),
    ],
    routes: [
      { name: "GET /", service: "frontend", operation: "serve", share: 1 },
      { name: PROBE, service: "frontend", operation: "probe", share: 0, objectiveMs: 60_000 },
    ],
    networkMs: fixed(0.3),
  },
  internalRoutes: [PROBE],
  telemetry: { sampledRatio: 1 },
  cluster: { podStartMs: { kind: "uniform", low: 5_000, high: 10_000 } },
  objectiveMs: 50,
  family: "blind-spans",
});
