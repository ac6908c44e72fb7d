import { isServiceName } from "@tradewind/core/contract/quantity.ts";
import type { NameRoom } from "./name-room.ts";
import { podCode } from "./request-model.ts";
import { OWNERSHIP } from "./service-owners.ts";
import type { ServiceOwners } from "./service-owners.ts";
import { NO_POD, NONE } from "./span-arena.ts";
import { ownerOf } from "./span.ts";
import type { SpanBatch, SpanResource } from "./span.ts";

const MAX_POD_NAME = 253;
/** In the place of a number: not looked up yet. */
const UNKNOWN = -3;
/** In the place of a number: the name is no name of a service. */
export const INVALID = -2;
/** In the place of a number: the spans are of another namespace, cluster or environment. */
export const FOREIGN = -4;

/** The numbers of the services and pods that one batch names, each looked up once, when the first span of it is taken. */
export class BatchServices {
  private readonly names: NameRoom;
  private readonly owners: ServiceOwners;
  private numbers = new Int32Array(16);
  private pods = new Int32Array(16);
  private libraries = new Uint8Array(16);

  constructor(names: NameRoom, owners: ServiceOwners) {
    this.names = names;
    this.owners = owners;
  }

  /** Begins with another batch. */
  begin({ resources }: SpanBatch): void {
    if (resources.length > this.numbers.length) {
      this.numbers = new Int32Array(2 * resources.length);
      this.pods = new Int32Array(2 * resources.length);
      this.libraries = new Uint8Array(2 * resources.length);
    }
    resources.forEach((resource, index) => {
      const ownership = this.owners.resolve(resource);
      this.libraries[index] = ownership === OWNERSHIP.library ? 1 : 0;
      this.numbers[index] =
        ownership === OWNERSHIP.foreign ? FOREIGN : isServiceName(ownerOf(resource)) ? UNKNOWN : INVALID;
    });
  }

  /** The number of the span's service; `INVALID`, or `NONE` when there is no place for one more. */
  of(batch: SpanBatch, span: number, nowMs: number): number {
    const resource = batch.resource[span] ?? 0;
    const known = this.numbers[resource] ?? INVALID;
    if (known !== UNKNOWN) return known;
    const named = batch.resources[resource] ?? { service: "" };
    const service = this.names.service(ownerOf(named), nowMs);
    this.numbers[resource] = service;
    this.pods[resource] = this.podOfResource(named, nowMs);
    return service;
  }

  /** The number of the service of a span that is refused; negative where it has none yet and is not known. */
  ofRefused(batch: SpanBatch, span: number, nowMs: number): number {
    const resource = batch.resource[span] ?? 0;
    const known = this.numbers[resource] ?? INVALID;
    if (known !== UNKNOWN) return known;
    const name = ownerOf(batch.resources[resource] ?? { service: "" });
    return this.owners.isKnown(name) ? this.of(batch, span, nowMs) : this.names.services.numberOf(name);
  }

  /** The code of the span's pod, `NO_POD` where it names none; known once {@link of} was asked for the span. */
  podOf(batch: SpanBatch, span: number): number {
    return this.pods[batch.resource[span] ?? 0] ?? NO_POD;
  }

  /** Whether the span is of a process that calls itself otherwise. */
  isLibrary(batch: SpanBatch, span: number): boolean {
    return this.libraries[batch.resource[span] ?? 0] === 1;
  }

  private podOfResource({ instance, isPod = false }: SpanResource, nowMs: number): number {
    if (instance === undefined || instance === "" || instance.length > MAX_POD_NAME) return NO_POD;
    const pod = this.names.pods.intern(instance, nowMs);
    return pod === NONE ? NO_POD : podCode(pod, isPod);
  }
}
