import { setTimeout as delay } from "node:timers/promises";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { ApiError } from "@tradewind/kubernetes/client/api-error.ts";
import { LeaderElector } from "@tradewind/kubernetes/election/elector.ts";
import type { ElectorOptions } from "@tradewind/kubernetes/election/elector.ts";
import { Lease } from "@tradewind/kubernetes/election/lease.ts";
import { oneIn, pick } from "../../test/fuzz/engine/draw.ts";
import type { Life, Points } from "./points.ts";
import { MachineClock } from "./virtual-time.ts";
import type { VirtualTime } from "./virtual-time.ts";

const NAMES = ["scaler-0", "scaler-1"];
const DEADLINE_MS = 5_000;
const READ = "read of the lease";
const WRITE = "write of the lease";
const log = createLog("laws", "silent");

class Candidate implements Life {
  isOver = false;
  isActing = false;
}

/** Two scalers that elect their leader by a Lease, which an API server keeps as Kubernetes does: whoever writes names the version it read. */
export class Leaders {
  readonly #points: Points;
  readonly #rng: Rng;
  readonly #onTwo: (what: string) => void;
  readonly #candidates = new Map<string, Candidate>();
  readonly #clock: MachineClock;
  #lease: object | undefined;
  #version = 0;
  #isAway = false;

  constructor(points: Points, rng: Rng, time: VirtualTime, onTwo: (what: string) => void) {
    this.#points = points;
    this.#rng = rng;
    this.#clock = new MachineClock(time, 0, 0);
    this.#onTwo = onTwo;
    for (const name of NAMES) this.#begin(name);
  }

  /** One of them is killed and started again, or the API server goes away or comes back. */
  step(): void {
    if (oneIn(this.#rng, 2)) {
      this.#isAway = !this.#isAway;
      return;
    }
    const name = pick(this.#rng, NAMES);
    const candidate = this.#candidates.get(name);
    if (candidate !== undefined) this.#points.kill(candidate);
    this.#begin(name);
  }

  suspend(ms: number): void {
    this.#clock.suspendedMs += ms;
  }

  look(): void {
    const acting = [...this.#candidates].filter(([, { isActing }]) => isActing).map(([name]) => name);
    if (acting.length > 1) this.#onTwo(acting.join(" and "));
  }

  end(): void {
    for (const candidate of this.#candidates.values()) this.#points.kill(candidate);
  }

  #begin(identity: string): void {
    const candidate = new Candidate();
    this.#candidates.set(identity, candidate);
    const elector = new LeaderElector({
      client: this.#client(candidate),
      namespace: "tradewind",
      name: "tradewind",
      identity,
      clock: this.#clock,
      rng: this.#rng,
      log,
      lead: async (signal) => {
        candidate.isActing = true;
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        candidate.isActing = false;
      },
    });
    elector.start();
  }

  #client(life: Life): ElectorOptions["client"] {
    const call = async <Result>(
      name: string,
      work: () => Result,
      deadlineMs = DEADLINE_MS,
      given = new AbortController(),
    ): Promise<Result> => {
      const answering = this.#points.act(
        name,
        life,
        () => {
          if (this.#isAway) throw new ApiError("the API server is away", { status: 0 });
          return work();
        },
        given.signal,
      );
      const late = delay(deadlineMs).then((): never => {
        // A write that is given up may still arrive.
        if (name === READ) given.abort();
        throw new ApiError("no answer in time", { status: 0 });
      });
      return Promise.race([answering, late]);
    };
    const find = (): Lease | undefined => (this.#lease === undefined ? undefined : Lease.parse(this.#lease));
    const client = {
      find: async () => call(READ, find),
      create: async (_place: unknown, object: unknown) => call(WRITE, () => this.#put(object, undefined)),
      update: async (_place: unknown, object: unknown, _signal: unknown, deadlineMs?: number) =>
        call(WRITE, () => this.#put(object, Lease.parse(object).metadata.resourceVersion), deadlineMs),
    };
    return client as ElectorOptions["client"];
  }

  #put(object: unknown, version: string | undefined): unknown {
    const isNewest = version === undefined ? this.#lease === undefined : version === String(this.#version);
    if (!isNewest) throw new ApiError("it was written meanwhile", { status: 409 });
    this.#version += 1;
    const { metadata, ...rest } = object as { readonly metadata: object };
    this.#lease = { ...rest, metadata: { ...metadata, resourceVersion: String(this.#version) } };
    return this.#lease;
  }
}
