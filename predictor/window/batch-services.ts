import type { NameRoom } from "./name-room.ts";
import type { SpanBatch } from "./span.ts";

const SERVICE_NAME = /^[^\p{C}]*[^\p{C}\s][^\p{C}]*$/u;
const MAX_SERVICE_NAME = 200;
/** In the place of a number: not looked up yet. */
const UNKNOWN = -3;
/** In the place of a number: the name is no name of a service. */
export const INVALID = -2;

/** The numbers of the services that one batch names, each looked up once, when the first span of it is taken. */
export class BatchServices {
  private readonly names: NameRoom;
  private numbers = new Int32Array(16);

  constructor(names: NameRoom) {
    this.names = names;
  }

  /** Begins with another batch. */
  begin({ resources }: SpanBatch): void {
    if (resources.length > this.numbers.length) this.numbers = new Int32Array(2 * resources.length);
    resources.forEach(({ service }, index) => {
      const valid = service.length <= MAX_SERVICE_NAME && SERVICE_NAME.test(service);
      this.numbers[index] = valid ? UNKNOWN : INVALID;
    });
  }

  /** The number of the span's service; `INVALID`, or `NONE` when there is no place for one more. */
  of(batch: SpanBatch, span: number, nowMs: number): number {
    const resource = batch.resource[span] ?? 0;
    const known = this.numbers[resource] ?? INVALID;
    if (known !== UNKNOWN) return known;
    const service = this.names.service(batch.resources[resource]?.service ?? "", nowMs);
    this.numbers[resource] = service;
    return service;
  }
}
