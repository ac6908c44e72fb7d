import type { Count, Distribution } from "./distribution.ts";

/** A call of an operation of another service. */
export interface CallModel {
  readonly service: string;
  readonly operation: string;
  /** Default: once. */
  readonly count?: Count;
  /** For one attempt, from the caller's side; the callee goes on with what it has begun. Default: none. */
  readonly timeoutMs?: number;
  /** Attempts after the first one. Default 0. */
  readonly retries?: number;
  /** Mean pause before a retry, uniform between half of it and one and a half; doubles with each. Default 0. */
  readonly backoffMs?: number;
  /** Name of a connection pool of the caller, see `ServiceModel.pools`. Default: no limit. */
  readonly pool?: string;
  /** The caller goes on when the call fails. Default false. */
  readonly optional?: boolean;
}

/** What an operation does, one step after the other. */
export type StepModel =
  /**
   * Work on the CPU, ms of one core. `span`: done before the operation's span begins or after it has ended (default: within it), as
   * a request's bytes are read before a handler is called and its answer is written after it. What waits for the CPU there waits
   * outside of the span; callers and users wait all the same. Such steps are the first and the last of an operation.
   */
  | { readonly kind: "cpu"; readonly time: Distribution; readonly span?: "before" | "after" }
  /**
   * Waits for what lies outside of the application: a database, a store, another company. `traced`: the caller has a
   * CLIENT span for it (default true); else it counts as the caller's self time.
   */
  | {
      readonly kind: "wait";
      readonly dependency: string;
      readonly time: Distribution;
      readonly traced?: boolean;
      readonly pool?: string;
    }
  /** Calls that run in parallel; the next step follows when all of them have ended. */
  | { readonly kind: "call"; readonly calls: readonly CallModel[] }
  /** A message that nobody waits for. */
  | { readonly kind: "send"; readonly call: CallModel };

/** Resources and threads of a container. */
export interface ContainerModel {
  readonly cpuRequestCores: number;
  /** CFS quota in cores; absent: the container shares the node's cores by its request. */
  readonly cpuLimitCores?: number;
  readonly memoryRequestBytes: number;
  readonly memoryLimitBytes?: number;
  /** CFS period, ms. Default 100. */
  readonly periodMs?: number;
}

/** What a process needs of memory. */
export interface MemoryModel {
  readonly baseBytes: number;
  /** For each request that waits or is served in the container. */
  readonly perRequestBytes: number;
  /** Never given back until the container restarts. */
  readonly leakBytesPerRequest: number;
}

/** CPU demand after a start (just-in-time compilation, cold caches): `factor` falls to 1 within `seconds`. */
export interface WarmUpModel {
  readonly factor: number;
  readonly seconds: number;
  /** `step`: the whole factor until the end; `linear`: falls evenly. */
  readonly shape: "step" | "linear";
}

/** A proxy in every pod that requests pass on their way. */
export interface SidecarModel extends ContainerModel {
  readonly name: string;
  readonly threads: number;
  /** CPU for each request to the pod, before the main container gets it. */
  readonly inboundMs: Distribution;
  /** CPU for each call that the pod makes, before it leaves. Default: none. */
  readonly outboundMs?: Distribution;
  readonly memoryBytes: number;
}

/** What every pod does by the clock, from a random moment after its start on. */
export interface PeriodicModel {
  readonly operation: string;
  readonly everySeconds: number;
  /** Name of the route that it is a request of, as a probe is; absent: nobody asked for it, and it has no span. */
  readonly route?: string;
}

export interface ServiceModel {
  readonly name: string;
  readonly operations: Readonly<Record<string, readonly StepModel[]>>;
  readonly container: ContainerModel;
  /** Worker threads; a container runs at most so many requests on the CPU. Default: no limit. */
  readonly threads?: number;
  /** A thread is held while its request waits for calls (default false: it is free meanwhile). */
  readonly blocking?: boolean;
  /**
   * The program learns of a request when a thread takes it, as from a listen queue: its span begins there. Work for a caller that
   * has given up ends with the step that it is at, and its span says so. Default: the span begins when the request comes, and work
   * once begun is done.
   */
  readonly endsWithCaller?: boolean;
  /** A request that has begun gets the next free thread, as a goroutine does that was just made ready. Default: they take turns. */
  readonly begunFirst?: boolean;
  /** Most requests in a container at once; more are refused. Default: no limit. */
  readonly queueLimit?: number;
  readonly memory?: MemoryModel;
  readonly warmUp?: WarmUpModel;
  readonly sidecar?: SidecarModel;
  /** Connections that a container may have open at once, by name of the pool. */
  readonly pools?: Readonly<Record<string, number>>;
  /** Pods at the start of a run. */
  readonly replicas: number;
  /**
   * How callers choose a pod. Default random. `kept-connections`: each caller (all users are one) sends a request on the free
   * connection that it used last, as pools of HTTP clients do, and opens one to a random pod where none is free.
   */
  readonly balancing?: "random" | "round-robin" | "least-connections" | "kept-connections";
  /** Housekeeping and probes. */
  readonly periodic?: readonly PeriodicModel[];
  /**
   * Takes messages from one queue of the service, `concurrency` at once in each pod, instead of getting them at once.
   * The queue survives pods.
   */
  readonly consumer?: { readonly concurrency: number };
}

/** An entry operation: what a kind of user asks for. */
export interface RouteModel {
  /** Name of the root span, for example `GET /hotels`. */
  readonly name: string;
  readonly service: string;
  readonly operation: string;
  /** Share of all requests; the shares of all routes add up to 1. 0: only what pods do by the clock. */
  readonly share: number;
  /** The latency that this route is judged by; default: the application's. */
  readonly objectiveMs?: number;
  /** After this the client gives up: the request failed. Default: never. */
  readonly timeoutMs?: number;
  /** Attempts after the first one. A request with retries counts once, by its last attempt. Default 0. */
  readonly retries?: number;
  readonly backoffMs?: number;
}

export interface ApplicationModel {
  readonly name: string;
  readonly entry: string;
  readonly services: readonly ServiceModel[];
  readonly routes: readonly RouteModel[];
  /** From a caller to a callee and back, each way. Default: no time. */
  readonly networkMs?: Distribution;
}
