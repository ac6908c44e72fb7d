/**
 * Writes the exports of all services, second by second, to standard output: each body after its length (32 bits, little
 * endian), a length of 0 after the last of a second. A process of its own, so that what it takes is not measured.
 * Arguments: services, spans per service and second, seconds, seed, start in ms.
 */
import { once } from "node:events";
import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { exportRequest, serviceName } from "./encode.ts";
import { TraceMaker, layeredGraph } from "./traffic.ts";
import type { MadeSpan } from "./traffic.ts";

/** Spans of one export at most: the default of the OpenTelemetry SDKs. */
const EXPORT_SPANS = 512;

const [services = 0, spansPerServiceSecond = 0, seconds = 0, seed = 0, startMs = 0] = process.argv
  .slice(2)
  .map(Number);

async function generate(): Promise<void> {
  const rng = seededRng(seed);
  const maker = new TraceMaker(layeredGraph(services, rng), rng);
  let waiting: MadeSpan[] = [];
  for (let second = 0; second < seconds; second += 1) {
    const beginMs = startMs + 1e3 * second;
    waiting.push(...secondOfTraces(maker, beginMs, rng));
    const ended = waiting.filter(({ endMs }) => endMs < beginMs + 1e3);
    waiting = waiting.filter(({ endMs }) => endMs >= beginMs + 1e3);
    for (const body of exportsOf(ended)) await write(body);
    await write(new Uint8Array(0));
  }
}

function secondOfTraces(maker: TraceMaker, beginMs: number, rng: Rng): MadeSpan[] {
  const made: MadeSpan[] = [];
  while (made.length < services * spansPerServiceSecond) made.push(...maker.make(beginMs + 1e3 * rng()));
  return made;
}

/** Every service sends what ended in the second, in as many exports as it takes. */
function exportsOf(spans: readonly MadeSpan[]): Uint8Array[] {
  const byService = Map.groupBy(spans, ({ service }) => service);
  return [...byService].flatMap(([service, all]) => {
    const parts: Uint8Array[] = [];
    for (let at = 0; at < all.length; at += EXPORT_SPANS) {
      parts.push(exportRequest(serviceName(service), all.slice(at, at + EXPORT_SPANS)));
    }
    return parts;
  });
}

async function write(body: Uint8Array): Promise<void> {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(body.length);
  process.stdout.write(length);
  if (!process.stdout.write(body)) await once(process.stdout, "drain");
}

await generate();
