import { connect as connectHttp2 } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { runningExporter } from "../../running-exporter.ts";
import type { TestExporter } from "../../running-exporter.ts";
import { until } from "../../until.ts";
import { planOf, wishOf } from "../../wish.ts";
import { secretDirectory } from "./secret.ts";
import type { Ref } from "./wire.ts";
import { WireClient } from "./wire-client.ts";

const ref: Ref = { name: "so", namespace: "shop", metadata: { service: "search" } };

function tcp(exporter: TestExporter, localAddress = "127.0.0.1"): Socket {
  const [, port] = exporter.running.addresses["grpc"]!.split(":");
  const socket = connect({ host: "127.0.0.1", port: Number(port), localAddress });
  socket.on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** An HTTP/2 session; it may be closed by the server at any moment. */
function session(exporter: TestExporter, localAddress?: string): ClientHttp2Session {
  const made = connectHttp2(`http://${exporter.running.addresses["grpc"]}`, {
    createConnection: () => tcp(exporter, localAddress),
  });
  made.on("error", () => undefined);
  onTestFinished(() => made.destroy());
  return made;
}

/** Starts a call and never sends its request. @returns what the server says of it in the end */
function halfOpen(on: ClientHttp2Session, rpc: string, padding = 0): { status?: string; message?: string } {
  const seen: { status?: string; message?: string } = {};
  if (on.destroyed || on.closed) return seen;
  const stream = on.request({
    ":method": "POST",
    ":path": `/externalscaler.ExternalScaler/${rpc}`,
    "content-type": "application/grpc",
    te: "trailers",
    ...(padding > 0 && { "x-padding": "x".repeat(padding) }),
  });
  const take = (headers: Record<string, unknown>): void => {
    if (typeof headers["grpc-status"] === "string") seen.status = headers["grpc-status"];
    if (typeof headers["grpc-message"] === "string") seen.message = decodeURI(headers["grpc-message"]);
  };
  const ignore = (): void => undefined;
  stream.on("response", take).on("trailers", take).on("error", ignore).resume();
  return seen;
}

async function connections(exporter: TestExporter): Promise<{ held: number; closed: number }> {
  const text = await exporter.metrics();
  const sum = (name: string): number =>
    [...text.matchAll(new RegExp(`^${name}\\{.*port="grpc".*\\} (\\d+)$`, "gm"))].reduce(
      (total, [, value]) => total + Number(value),
      0,
    );
  return {
    held: sum("tradewind_exporter_connections"),
    closed: sum("tradewind_exporter_connections_closed_total"),
  };
}

const replicas = async (exporter: TestExporter): Promise<number> =>
  (await exporter.client.metrics(ref, "m"))[0]!.int;

describe("KEDA's port", () => {
  it(
    "holds 200 of 2,000 sessions that one client opens, and KEDA is answered",
    { timeout: 60_000 },
    async () => {
      const exporter = await runningExporter(planOf([wishOf()]));
      const before = await replicas(exporter);
      for (let batch = 0; batch < 20; batch += 1) {
        const opened = Array.from({ length: 100 }, () => session(exporter, "127.0.0.2"));
        for (const each of opened) halfOpen(each, "GetMetrics", 6_000);
        expect(await replicas(exporter)).toBe(before);
      }
      const counts = await until("all to be counted", async () => {
        const now = await connections(exporter);
        return now.held + now.closed >= 2_000 ? now : undefined;
      });
      expect(counts.held).toBeLessThanOrEqual(201);
      expect(await replicas(exporter)).toBe(before);
    },
  );

  it("lets the longest idle session of a client make way for its next one", async () => {
    const exporter = await runningExporter(planOf([wishOf()]), { scaler: { maxConnectionsPerAddress: 3 } });
    const first = session(exporter, "127.0.0.2");
    await until("the first", async () => (await connections(exporter)).held === 1);
    const others = [1, 2, 3].map(() => session(exporter, "127.0.0.2"));
    await until("the end of the first", () => first.destroyed);
    expect(others.map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
  });

  it("takes a full port's places from those that begin calls and never make them, not from KEDA between polls", async () => {
    const exporter = await runningExporter(planOf([wishOf()]), {
      scaler: { maxConnections: 10, maxConnectionsPerAddress: 5 },
    });
    const kedas = new WireClient(exporter.running.addresses["grpc"]!, undefined, {
      "grpc.enable_retries": 0,
    });
    onTestFinished(() => kedas.close());
    for (let sender = 2; sender < 60; sender += 1) {
      halfOpen(session(exporter, `127.0.0.${sender}`), "GetMetrics");
      expect(await kedas.metrics(ref, "m")).toMatchObject([{ int: 5 }]);
    }
    const evicted = await until("evictions", async () => (await connections(exporter)).closed);
    expect(evicted).toBeGreaterThan(0);
  });

  it.each([
    ["without TLS", ""],
    ["with TLS", "tls"],
  ])(
    "%s closes a connection that says nothing, or too little, in the time for a greeting",
    async (_what, tls) => {
      const { paths } = await secretDirectory();
      const exporter = await runningExporter(undefined, {
        scaler: { handshakeMs: 100 },
        ...(tls !== "" && { tls: paths }),
      });
      const [silent, slow] = [tcp(exporter).resume(), tcp(exporter).resume()];
      slow.write("P");
      await until("both to be closed", () => silent.destroyed && slow.destroyed);
    },
  );

  it("keeps a session that greeted and has no call yet, as KEDA's are between polls", async () => {
    const exporter = await runningExporter(planOf([wishOf()]), { scaler: { handshakeMs: 2_000 } });
    const quiet = session(exporter);
    const silent = tcp(exporter).resume();
    await until("the silent one to be closed", () => silent.destroyed);
    expect(quiet.destroyed).toBe(false);
  });
});

describe("calls that are begun and never made", () => {
  it("are ended when they are too many, the oldest first, and a call in between is answered", async () => {
    const exporter = await runningExporter(planOf([wishOf()]), {
      scaler: { maxCalls: 3, deadlineMs: 60_000 },
    });
    const on = session(exporter);
    const calls = Array.from({ length: 5 }, () => halfOpen(on, "GetMetricSpec"));
    await until("two to be ended", () => calls.filter(({ status }) => status === "8").length === 2);
    expect(calls.map(({ status }) => status)).toEqual(["8", "8", undefined, undefined, undefined]);
    expect(calls[0]!.message).toBe("more than 3 calls are in progress on this scaler");
    expect(await replicas(exporter)).toBe(5);
  });

  it("are ended when their headers hold too many bytes", async () => {
    const exporter = await runningExporter(undefined, {
      scaler: { maxHeldBytes: 10_000, deadlineMs: 60_000 },
    });
    const on = session(exporter);
    const calls = Array.from({ length: 3 }, () => halfOpen(on, "GetMetrics", 4_000));
    await until("one to be ended", () => calls[0]!.status);
    expect(calls.map(({ status }) => status)).toEqual(["8", undefined, undefined]);
    expect(calls[0]!.message).toBe("calls in progress hold more than 10000 bytes on this scaler");
  });

  it("are refused when their headers are larger than 8 KiB", async () => {
    const exporter = await runningExporter(undefined);
    const call = halfOpen(session(exporter), "GetMetrics", 9_000);
    await until("the refusal", () => call.status);
    expect(call).toMatchObject({ status: "8", message: expect.stringMatching(/more than 8192/) as string });
  });

  it("end in their deadline also where a stream would answer them", async () => {
    const exporter = await runningExporter(planOf([wishOf()]), { scaler: { deadlineMs: 50 } });
    const call = halfOpen(session(exporter), "StreamIsActive");
    await until("the status", () => call.status);
    expect(call).toEqual({ status: "4", message: "no complete request within 50 ms" });
  });
});
