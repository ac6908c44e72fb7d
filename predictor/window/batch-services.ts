import { isServiceName } from "@tradewind/core/contract/quantity.ts";
import type { NameRoom } from "./name-room.ts";
import { NO_POD, NONE } from "./span-arena.ts";
import type { SpanBatch } from "./span.ts";

const MAX_POD_NAME = 253;
/** In the place of a number: not looked up yet. */
const UNKNOWN = -3;
/** In the place of a number: the name is no name of a service. */
export const INVALID = -2;

/** The numbers of the services and pods that one batch names, each looked up once, when the first span of it is taken. */
export class BatchServices {
  private readonly names: NameRoom;
  private numbers = new Int32Array(16);
  private pods = new Int32Array(16);

  constructor(names: NameRoom) {
    this.names = names;
  }

  /** Begins with another batch. */
  begin({ resources }: SpanBatch): void {
    if (resources.length > this.numbers.length) {
      this.numbers = new Int32Array(2 * resources.length);
      this.pods = new Int32Array(2 * resources.length);
    }
    resources.forEach(({ service }, index) => {
      this.numbers[index] = isServiceName(service) ? UNKNOWN : INVALID;
    });
  }

  /** The number of the span's service; `INVALID`, or `NONE` when there is no place for one more. */
  of(batch: SpanBatch, span: number, nowMs: number): number {
    const resource = batch.resource[span] ?? 0;
    const known = this.numbers[resource] ?? INVALID;
    if (known !== UNKNOWN) return known;
    const service = this.names.service(batch.resources[resource]?.service ?? "", nowMs);
    this.numbers[resource] = service;
    this.pods[resource] = this.podNumber(batch.resources[resource]?.instance, nowMs);
    return service;
  }

  /** The number of the span's pod, `NO_POD` where it names none; known once {@link of} was asked for the span. */
  podOf(batch: SpanBatch, span: number): number {
    return this.pods[batch.resource[span] ?? 0] ?? NO_POD;
  }

  private podNumber(instance: string | undefined, nowMs: number): number {
    if (instance === undefined || instance === "" || instance.length > MAX_POD_NAME) return NO_POD;
    const pod = this.names.pods.intern(instance, nowMs);
    return pod === NONE ? NO_POD : pod;
  }
}
