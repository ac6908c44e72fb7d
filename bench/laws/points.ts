import type { Rng } from "@tradewind/core/values/rng.ts";
import { below } from "../../test/fuzz/engine/draw.ts";

/** A process from its start until it ends or is killed. */
export interface Life {
  isOver: boolean;
}

interface WaitingPoint {
  readonly life: Life;
  readonly go: () => void;
}

/**
 * The points before and after everything that one process does to the world: to its disk, to another process, to what it serves. Whoever comes
 * to one waits there until it is let go, so that work under way is interleaved in any order, and a process that is killed gets no further.
 */
export class Points {
  /** Names of those that somebody came to, with how often a process was killed there. */
  readonly #kills: Map<string, number>;
  readonly #waiting: (WaitingPoint & { readonly name: string })[] = [];

  /** @param kills added to; points of several worlds may be counted together */
  constructor(kills: Map<string, number>) {
    this.#kills = kills;
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** @param signal aborted where whoever came has given up */
  async reach(name: string, life: Life, signal?: AbortSignal): Promise<void> {
    if (!this.#kills.has(name)) this.#kills.set(name, 0);
    await new Promise<void>((go) => {
      if (life.isOver || signal?.aborted === true) return;
      const waiting = { name, life, go };
      this.#waiting.push(waiting);
      signal?.addEventListener("abort", () => {
        const index = this.#waiting.indexOf(waiting);
        if (index !== -1) this.#waiting.splice(index, 1);
      });
    });
  }

  /** Lets one go that waits. */
  release(rng: Rng): void {
    const [one] = this.#waiting.splice(below(rng, this.#waiting.length), 1);
    one?.go();
  }

  /** The process does nothing more, wherever it is. */
  kill(life: Life): void {
    life.isOver = true;
    for (let index = this.#waiting.length - 1; index >= 0; index -= 1) {
      const waiting = this.#waiting[index];
      if (waiting?.life !== life) continue;
      this.#kills.set(waiting.name, (this.#kills.get(waiting.name) ?? 0) + 1);
      this.#waiting.splice(index, 1);
    }
  }

  /** Does something between two points. */
  async act<Result>(name: string, life: Life, work: () => Result, signal?: AbortSignal): Promise<Result> {
    await this.reach(`before ${name}`, life, signal);
    const result = work();
    await this.reach(`after ${name}`, life, signal);
    return result;
  }
}
