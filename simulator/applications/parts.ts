import type { CallModel, ServiceModel, StepModel } from "../model/application-model.ts";
import { lognormal } from "../model/distribution.ts";
import type { Distribution } from "../model/distribution.ts";

const MEBIBYTE = 2 ** 20;
const KIBIBYTE = 2 ** 10;
/** A server refuses more: threads and the backlog of a listening socket. */
const QUEUE_LIMIT = 1_000;
/** Spread of the CPU time of one kind of request. */
const CPU_CV = 0.5;
/** Spread of the time of a store in the same data centre. */
const STORE_CV = 0.7;

/** CPU work with the usual spread, ms. */
export const work = (milliseconds: number, cv = CPU_CV): StepModel => ({
  kind: "cpu",
  time: lognormal(milliseconds, cv),
});

/** Waits for a store or another dependency outside, which is traced. */
export const store = (dependency: string, time: number | Distribution): StepModel => ({
  kind: "wait",
  dependency,
  time: typeof time === "number" ? lognormal(time, STORE_CV) : time,
});

/** Calls at once, given as `service/operation`. */
export const all = (...calls: (string | CallModel)[]): StepModel => ({
  kind: "call",
  calls: calls.map((each) => (typeof each === "string" ? to(each) : each)),
});

/** A message for a consumer. */
export const send = (call: string): StepModel => ({ kind: "send", call: to(call) });

/** A call of an operation, given as `service/operation`. */
export function to(call: string, rest: Partial<CallModel> = {}): CallModel {
  const [service = "", operation = ""] = call.split("/");
  return { service, operation, ...rest };
}

/** Half of the CPU work, then what it waits for, then the other half. */
export function around(milliseconds: number, ...steps: readonly StepModel[]): StepModel[] {
  return steps.length === 0
    ? [work(milliseconds)]
    : [work(milliseconds / 2), ...steps, work(milliseconds / 2)];
}

/**
 * A service as most of the plants have it: one pod with a core for its limit and its request, 8 threads that are free while a
 * request waits, 512 MiB of which it uses a third when idle, and at most 1,000 requests at once.
 */
export function service(
  name: string,
  operations: ServiceModel["operations"],
  rest: Partial<ServiceModel> = {},
): ServiceModel {
  return {
    name,
    container: {
      cpuRequestCores: 1,
      cpuLimitCores: 1,
      memoryRequestBytes: 512 * MEBIBYTE,
      memoryLimitBytes: 512 * MEBIBYTE,
    },
    threads: 8,
    queueLimit: QUEUE_LIMIT,
    memory: { baseBytes: 160 * MEBIBYTE, perRequestBytes: 64 * KIBIBYTE, leakBytesPerRequest: 0 },
    replicas: 1,
    ...rest,
    operations,
  };
}

/** Pods at the start of a run by service. */
export type Replicas = Readonly<Record<string, number>>;

/** The services with other numbers of pods at the start; those that are not named keep theirs. */
export function withReplicas(services: readonly ServiceModel[], replicas: Replicas): ServiceModel[] {
  return services.map((each) =>
    service(each.name, each.operations, { ...each, replicas: replicas[each.name] ?? each.replicas }),
  );
}

/** A Java service: Tomcat's 200 threads, each held until its request is answered, and code that is compiled as it runs. */
export const java = (rest: Partial<ServiceModel> = {}): Partial<ServiceModel> => ({
  threads: 200,
  blocking: true,
  warmUp: { factor: 3, seconds: 60, shape: "linear" },
  ...rest,
});

/** A Node.js service: one thread that is free while it waits. */
export const node = (rest: Partial<ServiceModel> = {}): Partial<ServiceModel> => ({ threads: 1, ...rest });
