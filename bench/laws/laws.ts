/** What must hold of everything that KEDA was answered, whatever happened in between. */
export const LAWS = {
  need: "no answer is below the need while it is known, unless growth has not reached it yet",
  age: "no answer is older than stale-after, by the true time",
  approval: "an approval counts once",
  durable: "what was acknowledged is there after the process was killed or the power was cut",
  held: "a service that is held does not move",
  leader: "no two leaders act at once",
} as const;
export type Law = keyof typeof LAWS;

export interface Breach {
  readonly law: Law;
  readonly seed: number;
  /** True time since the world began, ms. */
  readonly atMs: number;
  readonly what: string;
}

/** A plan as the world knows it to be true. */
export interface PlanTruth {
  /** True time. ms */
  readonly madeMs: number;
  readonly needs: Readonly<Record<string, number>>;
  readonly running: Readonly<Record<string, number>>;
}

/** A decision that KEDA is answered by. */
export interface InForce {
  readonly replicas: number;
  readonly truth: PlanTruth;
}

/** Listens to all that is answered, and says which laws it breaks. */
export class Recorder {
  readonly breaches: Breach[] = [];
  answers = 0;
  readonly #seed: number;
  readonly #staleMs: number;
  readonly #nowMs: () => number;
  readonly #answered = new Map<string, number>();
  /** By the id of a change, the plans whose decisions it let through. */
  readonly #uses = new Map<string, Set<number>>();

  /** @param staleMs stale-after, and by how much clocks may differ */
  constructor(seed: number, staleMs: number, nowMs: () => number) {
    this.#seed = seed;
    this.#staleMs = staleMs;
    this.#nowMs = nowMs;
  }

  /** KEDA has no number of the service, or none that outlived its process: growth begins where its replicas are. */
  forget(service: string): void {
    this.#answered.delete(service);
  }

  /** @param held the number that alone may be answered; undefined where any may */
  answer(service: string, replicas: number, by: InForce | undefined, held: number | undefined): void {
    this.answers += 1;
    const before = this.#answered.get(service) ?? 0;
    this.#answered.set(service, replicas);
    if (by === undefined) return this.breach("age", `${service}: ${replicas} by a decision of no plan`);
    const ageMs = this.#nowMs() - by.truth.madeMs;
    if (ageMs > this.#staleMs) this.breach("age", `${service}: ${replicas}, ${ageMs} ms old`);
    const need = by.truth.needs[service] ?? 0;
    if (held === undefined && replicas < Math.min(need, before))
      this.breach("need", `${service}: ${before}, then ${replicas} where ${need} are needed`);
    if (held !== undefined && replicas !== held)
      this.breach("held", `${service}: ${replicas} where ${held} is held`);
    return undefined;
  }

  /** A decision went past what may go without a person, by this change. */
  use(change: string, plannedAtMs: number): void {
    const uses = this.#uses.get(change) ?? new Set();
    this.#uses.set(change, uses.add(plannedAtMs));
    if (uses.size > 1) this.breach("approval", `change ${change} let ${uses.size} plans through`);
  }

  /** A process ended whose decisions, or what became of its changes, the disk had not taken: they are made again. */
  lost(): void {
    this.#uses.clear();
  }

  breach(law: Law, what: string): void {
    this.breaches.push({ law, seed: this.#seed, atMs: this.#nowMs(), what });
  }
}
