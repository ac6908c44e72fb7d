import { connect } from "node:http2";
import { describe, expect, it, onTestFinished } from "vitest";
import { runningExporter } from "../../running-exporter.ts";
import { until } from "../../until.ts";
import { planOf, wishOf } from "../../wish.ts";
import type { Ref } from "./wire.ts";

const ref: Ref = { name: "so", namespace: "shop", metadata: { service: "search" } };

/** An HTTP/2 connection that can start a call and leave it unfinished. */
function rawConnection(address: string) {
  const session = connect(`http://${address}`);
  session.on("error", () => undefined);
  onTestFinished(() => session.destroy());
  const open = (rpc: string) => {
    const stream = session.request({
      ":method": "POST",
      ":path": `/externalscaler.ExternalScaler/${rpc}`,
      "content-type": "application/grpc",
      te: "trailers",
    });
    const seen: { status?: string; message?: string } = {};
    const take = (headers: Record<string, unknown>): void => {
      if (typeof headers["grpc-status"] === "string") seen.status = headers["grpc-status"];
      if (typeof headers["grpc-message"] === "string") seen.message = decodeURI(headers["grpc-message"]);
    };
    stream
      .on("response", take)
      .on("trailers", take)
      .on("error", () => undefined)
      .resume();
    return seen;
  };
  return { session, open };
}

describe("the scaler port", () => {
  it("ends a call whose client never sends its request", async () => {
    const exporter = await runningExporter(planOf([wishOf()]), { scaler: { deadlineMs: 50 } });
    const call = rawConnection(exporter.running.addresses["grpc"]!).open("GetMetrics");
    await until("the status", () => call.status);
    expect(call).toEqual({ status: "4", message: "no complete request within 50 ms" });
    expect(await exporter.metrics()).toMatch(
      /tradewind_keda_rpc_duration_seconds_count\{rpc="GetMetrics",code="DEADLINE_EXCEEDED"\} 1/,
    );
  });

  it("refuses calls beyond its limit instead of queueing them, and recovers", async () => {
    const exporter = await runningExporter(planOf([wishOf()]), {
      scaler: { maxCalls: 3, deadlineMs: 1_000 },
    });
    const { open, session } = rawConnection(exporter.running.addresses["grpc"]!);
    const calls = Array.from({ length: 4 }, () => open("GetMetrics"));
    await until("the refusal", () => calls.some((call) => call.status === "8"));
    expect(calls.filter((call) => call.status === "8")).toHaveLength(1);
    expect(await exporter.client.metricSpec(ref)).toHaveLength(1);
    session.destroy();
    await until("room for others", async () => (await exporter.client.metrics(ref, "m")).length === 1);
  });

  it("sends keepalive pings, which tell a dead KEDA from a quiet one", async () => {
    const exporter = await runningExporter(undefined, { scaler: { keepaliveMs: 100 } });
    const { session } = rawConnection(exporter.running.addresses["grpc"]!);
    let pings = 0;
    session.on("ping", () => {
      pings += 1;
    });
    await until("two pings", () => pings >= 2);
  });

  it("closes connections of a certain age gracefully, and no call is lost over it", async () => {
    const exporter = await runningExporter(planOf([wishOf()]), {
      scaler: { connectionAgeMs: 100, connectionAgeGraceMs: 1_000 },
    });
    const { session } = rawConnection(exporter.running.addresses["grpc"]!);
    const codes: number[] = [];
    session.on("goaway", (code: number) => codes.push(code));
    for (let answered = 0; codes.length === 0; answered += 1) {
      expect(answered).toBeLessThan(10_000);
      expect(await exporter.client.metrics(ref, "m")).toMatchObject([{ int: 5 }]);
    }
    expect(new Set(codes)).toEqual(new Set([0]));
    expect(await exporter.client.metrics(ref, "m")).toMatchObject([{ int: 5 }]);
  });
});
