import type { Rng } from "@tradewind/core/values/rng.ts";
import { ByteMutator, randomBytes } from "./bytes.ts";
import { below, between, fewTimes, oneIn, pick } from "./draw.ts";

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** A field as it stands on the wire. `inner` holds the fields of a payload that is itself a message. */
interface Field {
  readonly number: number;
  readonly wireType: number;
  readonly payload: Uint8Array;
  readonly inner?: readonly Field[];
  /** Added to the length that is written before the payload. */
  readonly lengthError?: number;
}

const VARINTS = [
  0n,
  1n,
  127n,
  128n,
  2n ** 31n,
  2n ** 32n - 1n,
  2n ** 32n,
  2n ** 53n,
  2n ** 63n,
  2n ** 64n - 1n,
];
const FIELD_NUMBERS = [0, 1, 2, 3, 4, 7, 15, 16, 18_999, 2 ** 29 - 1];
const LENGTH_ERRORS = [-1, 1, 7, -7, 1_000, 2 ** 31, 2 ** 32 - 1];
const DEEPEST = 10_000;

/** Draws protobuf messages: a valid one with a few fields changed, and now and then a few bytes. */
export class ProtobufMutator {
  private readonly seeds: readonly (readonly Field[])[];
  private readonly raw: ByteMutator;

  constructor(seeds: readonly Uint8Array[], words: readonly (Uint8Array | string)[] = []) {
    this.seeds = seeds.map((bytes) => fieldsOf(bytes) ?? []);
    this.raw = new ByteMutator(seeds, words);
  }

  make(rng: Rng): Uint8Array {
    if (oneIn(rng, 6)) return this.raw.make(rng);
    let fields = pick(rng, this.seeds);
    for (let left = fewTimes(rng, 8); left > 0; left -= 1) fields = this.descend(rng, fields);
    const bytes = encode(fields);
    return oneIn(rng, 4) ? this.raw.mutate(rng, bytes) : bytes;
  }

  private descend(rng: Rng, fields: readonly Field[]): readonly Field[] {
    const at = below(rng, fields.length);
    const field = fields[at];
    if (field === undefined) return [{ number: 1, wireType: BYTES, payload: randomBytes(rng, 4) }];
    if (field.inner !== undefined && !oneIn(rng, 4)) {
      return fields.with(at, { ...field, inner: this.descend(rng, field.inner) });
    }
    return this.change(rng, fields, at, field);
  }

  private change(rng: Rng, fields: readonly Field[], at: number, field: Field): readonly Field[] {
    switch (below(rng, 10)) {
      case 0:
        return fields.toSpliced(at, 1);
      case 1:
        return fields.toSpliced(
          at,
          0,
          ...Array.from({ length: between(rng, 1, oneIn(rng, 500) ? 2_000 : 3) }, () => field),
        );
      case 2:
        return fields.with(at, { ...field, number: pick(rng, FIELD_NUMBERS) });
      case 3:
        return fields.with(at, { ...field, wireType: below(rng, 8) });
      case 4:
        return fields.with(at, { ...field, lengthError: pick(rng, LENGTH_ERRORS) });
      case 5:
        return fields.with(at, {
          number: field.number,
          wireType: VARINT,
          payload: varint(pick(rng, VARINTS)),
        });
      case 6:
        return fields.with(at, {
          number: field.number,
          wireType: BYTES,
          payload: randomBytes(rng, below(rng, 40)),
        });
      case 7:
        return fields.with(at, this.deeper(rng, field));
      case 8:
        return fields.toReversed();
      default:
        return fields.with(at, {
          number: field.number,
          wireType: BYTES,
          payload: this.raw.mutate(rng, field.payload),
        });
    }
  }

  private deeper(rng: Rng, field: Field): Field {
    let payload = bodyOf(field);
    const depth = oneIn(rng, 1_000) ? DEEPEST : between(rng, 1, 20);
    for (let left = depth; left > 0 && payload.length < 60_000; left -= 1) {
      payload = encode([{ number: field.number, wireType: BYTES, payload }]);
    }
    return { number: field.number, wireType: BYTES, payload };
  }
}

/** The fields of a message; undefined when the bytes are none. Payloads that read as a message count as one. */
function fieldsOf(bytes: Uint8Array): Field[] | undefined {
  const fields: Field[] = [];
  let at = 0;
  while (at < bytes.length) {
    const tag = readVarint(bytes, at);
    if (tag === undefined || tag.value >> 3n === 0n) return undefined;
    at = tag.end;
    const number = Number(tag.value >> 3n);
    const wireType = Number(tag.value & 7n);
    const end = payloadEnd(bytes, at, wireType);
    if (end === undefined) return undefined;
    const payload = bytes.subarray(end.from, end.to);
    const inner = wireType === BYTES && payload.length > 1 ? fieldsOf(payload) : undefined;
    fields.push({ number, wireType, payload, ...(inner && { inner }) });
    at = end.to;
  }
  return fields;
}

function payloadEnd(
  bytes: Uint8Array,
  at: number,
  wireType: number,
): { from: number; to: number } | undefined {
  const value = wireType === VARINT || wireType === BYTES ? readVarint(bytes, at) : undefined;
  if (wireType === VARINT && value !== undefined) return { from: at, to: value.end };
  const fixed = wireType === FIXED64 ? 8 : wireType === FIXED32 ? 4 : undefined;
  const from = wireType === BYTES ? value?.end : at;
  const length = wireType === BYTES ? Number(value?.value) : fixed;
  if (from === undefined || length === undefined || !(from + length <= bytes.length)) return undefined;
  return { from, to: from + length };
}

function readVarint(bytes: Uint8Array, from: number): { value: bigint; end: number } | undefined {
  let value = 0n;
  for (let at = from; at < from + 10; at += 1) {
    const byte = bytes[at];
    if (byte === undefined) return undefined;
    value |= BigInt(byte & 0x7f) << BigInt(7 * (at - from));
    if (byte < 0x80) return { value, end: at + 1 };
  }
  return undefined;
}

function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest === 0n ? low : low | 0x80);
  } while (rest !== 0n);
  return Uint8Array.from(bytes);
}

const bodyOf = ({ inner, payload }: Field): Uint8Array => (inner === undefined ? payload : encode(inner));

function encode(fields: readonly Field[]): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const field of fields) {
    parts.push(varint((BigInt(field.number) << 3n) | BigInt(field.wireType)));
    const body = bodyOf(field);
    if (field.wireType === BYTES) {
      parts.push(varint(BigInt(Math.max(0, body.length + (field.lengthError ?? 0)))));
    }
    parts.push(body);
  }
  return Buffer.concat(parts);
}
