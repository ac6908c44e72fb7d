import type { PolicyInputs } from "../../decide/inputs.ts";

/** Inputs of the last decisions as JSON, by window hash; the oldest make room. */
export class InputsArchive {
  private readonly texts = new Map<string, string>();
  private readonly maxCount: number;
  private readonly maxBytes: number;
  private bytes = 0;

  constructor(maxCount: number, maxBytes: number) {
    this.maxCount = maxCount;
    this.maxBytes = maxBytes;
  }

  add(hash: string, inputs: PolicyInputs): void {
    this.remove(hash);
    const text = JSON.stringify(inputs);
    this.texts.set(hash, text);
    this.bytes += text.length;
    for (const oldest of this.texts.keys()) {
      if (this.texts.size <= this.maxCount && this.bytes <= this.maxBytes) break;
      this.remove(oldest);
    }
  }

  get(hash: string): string | undefined {
    return this.texts.get(hash);
  }

  /** Newest first. */
  hashes(): readonly string[] {
    return [...this.texts.keys()].reverse();
  }

  private remove(hash: string): void {
    this.bytes -= this.texts.get(hash)?.length ?? 0;
    this.texts.delete(hash);
  }
}
