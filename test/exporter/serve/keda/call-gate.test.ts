import { connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ExporterInput } from "@tradewind/exporter/options.ts";
import { runningExporter } from "../../running-exporter.ts";
import { until } from "../../until.ts";
import { planOf, wishOf } from "../../wish.ts";
import type { Ref } from "./wire.ts";

const ref: Ref = { name: "so", namespace: "shop", metadata: { service: "search" } };

const HEADERS_FRAME = 1;
const RESET_FRAME = 3;
const SETTINGS_FRAME = 4;
const GREETING = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

function frame(type: number, flags: number, stream: number, payload = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** `POST http://scaler/externalscaler.ExternalScaler/StreamIsActive`, as HPACK without compression. */
function callHeaders(): Buffer<ArrayBuffer> {
  const text = (value: string) => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
  const named = (name: string, value: string) => Buffer.concat([Buffer.from([0]), text(name), text(value)]);
  return Buffer.concat([
    Buffer.from([0x83, 0x86, 0x04]),
    text("/externalscaler.ExternalScaler/StreamIsActive"),
    Buffer.from([0x01]),
    text("scaler"),
    named("content-type", "application/grpc"),
    named("te", "trailers"),
  ]);
}

/** A client that begins calls without reading, and may take each back at once. */
function flood(address: string, calls: number, resets: boolean) {
  const [host = "", port = ""] = address.split(":");
  const socket = connect(Number(port), host);
  onTestFinished(() => void socket.destroy());
  const seen = { isClosed: false };
  socket.on("error", () => undefined).on("close", () => (seen.isClosed = true));
  const headers = callHeaders();
  const begun = Array.from({ length: calls }, (_, index) => {
    const call = frame(HEADERS_FRAME, 4, 1 + 2 * index, headers);
    return resets
      ? Buffer.concat([call, frame(RESET_FRAME, 0, 1 + 2 * index, Buffer.from([0, 0, 0, 8]))])
      : call;
  });
  socket.resume().write(Buffer.concat([Buffer.from(GREETING), frame(SETTINGS_FRAME, 0, 0), ...begun]));
  return seen;
}

const running = async (
  scaler: NonNullable<ExporterInput["scaler"]> = {},
  more: Partial<ExporterInput> = {},
) => runningExporter(planOf([wishOf()]), { scaler, ...more });

const begunCalls = (metrics: string): number =>
  [
    ...metrics.matchAll(/tradewind_keda_rpc_duration_seconds_count\{rpc="StreamIsActive",[^}]*\} (\d+)/g),
  ].reduce((sum, [, count]) => sum + Number(count), 0);

describe("the gate before the scaler's port", () => {
  it.each([
    ["begins thousands of calls at once", false],
    ["takes each call back at once", true],
  ])(
    "ends a connection whose client %s, after a few of them, while KEDA is answered",
    async (_what, resets) => {
      const exporter = await running();
      expect(await exporter.client.metrics(ref, "m")).toMatchObject([{ int: 5 }]);
      const floods = Array.from({ length: 3 }, () =>
        flood(exporter.running.addresses["grpc"]!, 2_000, resets),
      );
      await until("the end of the floods", () => floods.every(({ isClosed }) => isClosed));
      expect(await exporter.client.metrics(ref, "m")).toMatchObject([{ int: 5 }]);
      const metrics = await exporter.metrics();
      expect(begunCalls(metrics)).toBeLessThan(3 * 200);
      expect(metrics).toMatch(/tradewind_exporter_refused_total\{door="grpc",reason="calls"\} 3/);
    },
  );

  it("lets one connection of KEDA hold far more streams than it may begin at once, and answers calls beside them", async () => {
    const exporter = await running({ maxConnectionCalls: 8 });
    const streams = Array.from({ length: 300 }, (_, index) => {
      const seen: unknown[] = [];
      exporter.client
        .stream("StreamIsActive", { ...ref, name: `so${index}` })
        .on("data", (word) => seen.push(word))
        .on("error", () => undefined);
      return seen;
    });
    await until("the first word of each stream", () => streams.every((seen) => seen.length === 1));
    expect(await exporter.client.metrics(ref, "m")).toMatchObject([{ int: 5 }]);
    expect(await exporter.metrics()).toMatch(
      /tradewind_exporter_refused_total\{door="grpc",reason="calls"\} 0/,
    );
  });

  it("takes no new connection of a sender that has used up its work, and goes on with one that kept to its part", async () => {
    const exporter = await running({}, { maxSenderWork: 0.01 });
    expect(await exporter.client.metrics(ref, "m")).toMatchObject([{ int: 5 }]);
    const refusals = async () =>
      Number(/refused_total\{door="grpc",reason="work"\} (\d+)/.exec(await exporter.metrics())?.[1]);
    await until("a refusal", async () => {
      const one = flood(exporter.running.addresses["grpc"]!, 2_000, true);
      await until("its end", () => one.isClosed);
      return (await refusals()) > 0;
    });
    expect(await exporter.client.metrics(ref, "m")).toMatchObject([{ int: 5 }]);
  });
});
