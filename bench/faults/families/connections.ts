import { frame, headerBlock, PREFACE } from "../../scaler/caller.ts";
import type { Fault } from "../fault.ts";
import { PODS } from "../../stage/setting.ts";
import type { Stage } from "../../stage/stage.ts";
import { hostPort, Stranger } from "../../stage/stranger.ts";

const SECONDS = 8;
const HEADERS = 1;
const SETTINGS = 4;
const END_HEADERS = 4;
const EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
/** Pads the headers of a half-open call to about 6 kB. */
const LONG_AUTHORITY = "a".repeat(120);

/** A session that begins so many calls and sends none of their messages. */
function halfOpen(path: string, calls: number): Buffer {
  const block = headerBlock(LONG_AUTHORITY, path);
  const begun = Array.from({ length: calls }, (_, call) => frame(HEADERS, END_HEADERS, 1 + 2 * call, block));
  return Buffer.concat([PREFACE, frame(SETTINGS, 0, 0), ...begun]);
}

const HALF_BODY =
  "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{";
const KEPT_ALIVE = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

/** A stranger holds connections for as long as the fault lasts. */
function held(
  name: string,
  summary: string,
  hold: (stage: Stage, stranger: Stranger) => Promise<void>,
  more: Partial<Fault> = {},
): Fault {
  const stranger = new Stranger();
  return {
    name,
    summary,
    seconds: SECONDS,
    survives: true,
    takesExports: true,
    ...more,
    begin: async (stage) => {
      await hold(stage, stranger);
      // Clients come and go; those that are connected already would not notice.
      await stage.load.reconnect();
    },
    end: async ({ load }) => {
      stranger.leave();
      load.useGrpc(undefined);
    },
  };
}

/** The same to the OTLP port of both predictors: each of them is some clients' own. */
const toBoth = (count: number, words: string) => async (stage: Stage, stranger: Stranger) => {
  await Promise.all(
    PODS.map(async (pod) => stranger.hold(hostPort(stage.address(pod, "otlp")), count, words)),
  );
};

export const CONNECTION_FAULTS: readonly Fault[] = [
  held("half-sent-bodies", "64 exports whose bodies never come, at each predictor", toBoth(64, HALF_BODY), {
    quick: true,
  }),
  held("idle-otlp-connections", "1,000 connections to each OTLP port that say nothing", toBoth(1_000, "")),
  held(
    "half-open-calls",
    "4 connections to each predictor of 40 OTLP/gRPC calls whose messages never come",
    async (stage, stranger) => {
      stage.load.useGrpc(PODS.map((pod) => stage.otlpGrpc(pod)));
      await Promise.all(PODS.map(async (pod) => stranger.hold(stage.otlpGrpc(pod), 4, halfOpen(EXPORT, 40))));
    },
  ),
  held(
    "idle-page-connections",
    "512 connections to an exporter's page that are kept alive",
    async (stage, stranger) => stranger.hold(hostPort(stage.address(0, "page")), 512, KEPT_ALIVE),
  ),
  held(
    "call-flood",
    "10 connections that begin 2,000 calls each, again and again, at an exporter's port for KEDA",
    async (stage, stranger) =>
      stranger.hold(stage.grpc(0), 10, halfOpen("/externalscaler.ExternalScaler/GetMetrics", 2_000)),
  ),
  held(
    "idle-scaler-sessions",
    "3,000 HTTP/2 sessions with a half-open call each at an exporter's port for KEDA",
    async (stage, stranger) =>
      stranger.hold(stage.grpc(0), 3_000, halfOpen("/externalscaler.ExternalScaler/GetMetrics", 1)),
  ),
];
