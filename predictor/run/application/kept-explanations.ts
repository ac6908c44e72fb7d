import { gunzipSync, gzipSync } from "node:zlib";
import type { Explanation } from "@tradewind/core/contract/explanation.ts";
import type { Prompt } from "../../answers/reason/prompt.ts";
import type { Reasoned } from "../../answers/reason/explain.ts";
import type { Sketch } from "../../answers/reason/sketch.ts";

/** An explanation with what a model was asked and answered, word for word; absent: none was asked, or none answered. */
interface AnsweredExplanation {
  readonly explanation: Explanation;
  readonly answer?: string;
  readonly prompt?: Prompt;
}

interface KeptExplanation extends AnsweredExplanation {
  /** Every signal of every service, which may be megabytes: gzipped JSON. */
  readonly packedSketch: Buffer;
  readonly bytes: number;
}

/** Explanations of missed objectives, oldest first; the oldest make room. */
export class KeptExplanations {
  readonly #maxCount: number;
  readonly #maxBytes: number;
  #all: readonly KeptExplanation[] = [];

  /** @param maxBytes the newest is kept however large it is */
  constructor(maxCount: number, maxBytes: number) {
    this.#maxCount = maxCount;
    this.#maxBytes = maxBytes;
  }

  get all(): readonly KeptExplanation[] {
    return this.#all;
  }

  add({ explanation, sketch }: Reasoned): void {
    this.#keep([...this.#all, weighed({ explanation }, gzipSync(JSON.stringify(sketch)))]);
  }

  /** @param made is replaced by `answered`, where it is still kept */
  replace(made: Explanation, answered: AnsweredExplanation): void {
    this.#keep(
      this.#all.map((each) => (each.explanation === made ? weighed(answered, each.packedSketch) : each)),
    );
  }

  #keep(all: readonly KeptExplanation[]): void {
    let bytes = all.reduce((sum, each) => sum + each.bytes, 0);
    this.#all = all.filter((each, at) => {
      const left = all.length - at;
      const isKept = left === 1 || (left <= this.#maxCount && bytes <= this.#maxBytes);
      bytes -= each.bytes;
      return isKept;
    });
  }
}

const weighed = (answered: AnsweredExplanation, packedSketch: Buffer): KeptExplanation => ({
  ...answered,
  packedSketch,
  bytes: packedSketch.length + JSON.stringify(answered).length,
});

/** The state that an explanation cites. */
export const sketchOf = ({ packedSketch }: Pick<KeptExplanation, "packedSketch">): Sketch =>
  JSON.parse(gunzipSync(packedSketch).toString()) as Sketch;
