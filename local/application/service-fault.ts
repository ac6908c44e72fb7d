import { z } from "zod";

/** What is wrong within the replicas of a service. Everything is well by default. */
export const ReplicaFault = z.strictObject({
  /** CPU time of a request over the usual. */
  cpuRatio: z.number().min(1).max(100).default(1),
  /** Time that a request is on its way before the replica sees it, ms. */
  networkMillis: z.number().min(0).max(10_000).default(0),
  /** Time that a request waits for something that sends no spans, and takes no CPU, ms. */
  outsideMillis: z.number().min(0).max(10_000).default(0),
  /** Share of the requests that are answered with 500. */
  failedRatio: z.number().min(0).max(1).default(0),
});
export type ReplicaFault = z.output<typeof ReplicaFault>;

export const NO_FAULT: ReplicaFault = ReplicaFault.parse({});

/** What can be done to a service: see `FAULT_WORDS`. */
export const FAULT_KINDS = ["cpu", "network", "dependency", "errors", "limit", "deploy"] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** A fault of one service of the application. */
export interface ServiceFault {
  readonly service: string;
  readonly kind: FaultKind;
}

/** What a fault does, in words for people. */
export const FAULT_WORDS: Readonly<Record<FaultKind, string>> = {
  cpu: "each request takes ten times the CPU",
  network: "requests reach it 150 ms late",
  dependency: "each request waits 250 ms for a store that sends no spans",
  errors: "it answers a third of the requests with 500",
  limit: "its containers may use a quarter of the CPU that they had",
  deploy: "a new version is rolled out that takes ten times the CPU",
};

/** What the cause is that an explanation should name, see `CAUSE_TYPES`. */
export const FAULT_CAUSES = {
  cpu: "C",
  network: "N",
  dependency: "X",
  errors: "X",
  limit: "C",
  deploy: "V",
} as const satisfies Record<FaultKind, string>;

/** How much a fault does: within the replicas, or, for `limit`, to the CPU of their containers. */
export interface FaultEffect {
  readonly replica: ReplicaFault;
  /** CPU of a container over what it had. */
  readonly cpuLimitRatio: number;
}

const within = (fault: Partial<ReplicaFault>): FaultEffect => ({
  replica: { ...NO_FAULT, ...fault },
  cpuLimitRatio: 1,
});

/** What each kind does where nothing else is said: the numbers of `FAULT_WORDS`. */
export const FAULT_EFFECTS: Readonly<Record<FaultKind, FaultEffect>> = {
  cpu: within({ cpuRatio: 10 }),
  network: within({ networkMillis: 150 }),
  dependency: within({ outsideMillis: 250 }),
  errors: within({ failedRatio: 1 / 3 }),
  limit: { replica: NO_FAULT, cpuLimitRatio: 0.25 },
  deploy: within({ cpuRatio: 10 }),
};
