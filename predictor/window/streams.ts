import { streamSeconds } from "./request-model.ts";

const NS_PER_SECOND = 1e9;

/** Operations that answered once in less than it takes for a stream: they stay operations with a latency, however slow they become. */
export class Streams {
  private readonly answering = new Set<string>();
  private readonly streaming = new Set<string>();
  private readonly objectiveSeconds: () => number | undefined;
  private readonly limit: number;
  private longNs: number;

  /** @param limit operations that are remembered */
  constructor(objectiveSeconds: () => number | undefined, limit: number) {
    this.objectiveSeconds = objectiveSeconds;
    this.limit = limit;
    this.longNs = Infinity;
    this.refresh();
  }

  /** Reads the objective again. */
  refresh(): void {
    this.longNs = streamSeconds(this.objectiveSeconds()) * NS_PER_SECOND;
  }

  isLong(durationNs: number): boolean {
    return durationNs >= this.longNs;
  }

  /**
   * Whether a long request is one of a stream: its operation never answered sooner. One that fails is, where others that did not fail
   * were.
   */
  isStreaming(service: string, operation: string, isFailed: boolean): boolean {
    const operationKey = key(service, operation);
    if (this.answering.has(operationKey)) return false;
    if (isFailed) return this.streaming.has(operationKey);
    if (this.streaming.size < this.limit) this.streaming.add(operationKey);
    return true;
  }

  /** An operation answered as requests do. */
  answered(service: string, operation: string): void {
    const operationKey = key(service, operation);
    // Those used last are kept.
    this.answering.delete(operationKey);
    this.streaming.delete(operationKey);
    this.answering.add(operationKey);
    if (this.answering.size <= this.limit) return;
    for (const oldest of this.answering) {
      this.answering.delete(oldest);
      return;
    }
  }
}

const key = (service: string, operation: string): string => `${service} ${operation}`;
