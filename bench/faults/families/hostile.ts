import { gzipSync } from "node:zlib";
import type { Fault } from "../fault.ts";
import { aSpan, protobufRequest } from "../../../test/predictor/sources/otlp/messages.ts";
import { PODS } from "../../stage/setting.ts";
import type { Stage } from "../../stage/stage.ts";

const NAMES = 6_000;
const NAMES_AT_ONCE = 200;
const GROWS_WITHIN = 9;
/** Just under the 16 MiB that a body may have. */
const BOMB_SPANS = 5_500_000;

async function post(
  stage: Stage,
  pod: 0 | 1,
  body: Uint8Array,
  headers: Record<string, string>,
): Promise<void> {
  const sent = fetch(`${stage.address(pod, "otlp")}/v1/traces`, {
    method: "POST",
    headers,
    body,
    signal: AbortSignal.timeout(5_000),
  });
  await sent.then(async (answer) => answer.arrayBuffer()).catch(() => undefined);
}

const PROTOBUF = { "content-type": "application/x-protobuf" };

/** One span of each of many services that do not exist, many exports at once. */
async function inventNames(stage: Stage): Promise<void> {
  const nowMs = Date.now();
  for (let from = 0; from < NAMES; from += NAMES_AT_ONCE) {
    const bodies = Array.from({ length: NAMES_AT_ONCE }, (_, index) => {
      const id = (from + index).toString(16).padStart(16, "d");
      const span = aSpan({ traceId: id.repeat(2), spanId: id, startMs: nowMs - 5, endMs: nowMs });
      return protobufRequest([span], { "service.name": `invented-${from + index}` });
    });
    // Messages of the same kind may follow each other on the wire: one export of many resources.
    const body = Buffer.concat(bodies);
    await Promise.all(PODS.map(async (pod) => post(stage, pod, body, PROTOBUF)));
  }
}

/** 16.8 MB of spans with no ids, as JSON, in 16 kB of gzip. */
const BOMB = gzipSync(`{"resourceSpans":[{"scopeSpans":[{"spans":[${"{},".repeat(BOMB_SPANS - 1)}{}]}]}]}`);

export const HOSTILE_FAULTS: readonly Fault[] = [
  {
    name: "invented-names",
    summary: "6,000 services that do not exist send spans to fresh predictors first; then users wait",
    seconds: 11,
    growsWithin: GROWS_WITHIN,
    begin: async (stage) => {
      stage.load.isOn = false;
      await Promise.all(PODS.map(async (pod) => stage.process(pod, "predictor").kill()));
      await stage.heal();
      await inventNames(stage);
      stage.load.isOn = true;
    },
    end: async () => undefined,
  },
  {
    name: "span-bomb",
    summary: "one export of 16 kB that unpacks to 5.5 million invalid spans, while users wait",
    seconds: 12,
    growsWithin: GROWS_WITHIN,
    survives: true,
    takesExports: true,
    begin: async (stage) => {
      void post(stage, 0, BOMB, { "content-type": "application/json", "content-encoding": "gzip" });
    },
    end: async () => undefined,
  },
  {
    name: "sampling-lie",
    summary: "one span in each window says that it stands for 100,000 requests",
    seconds: 8,
    survives: true,
    begin: async (stage) => {
      const nowMs = Date.now();
      const span = aSpan({
        spanId: "e".repeat(16),
        traceState: "ot=th:ffff58",
        startMs: nowMs - 50,
        endMs: nowMs,
      });
      await post(stage, 0, protobufRequest([span], { "service.name": "frontend" }), PROTOBUF);
    },
    end: async () => undefined,
  },
];
