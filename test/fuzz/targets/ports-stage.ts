import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RealProcess } from "../../../bench/stage/process.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import { WireClient } from "../../exporter/serve/keda/wire-client.ts";
import { planOf, wishOf } from "../../exporter/wish.ts";
import { Broken } from "../engine/target.ts";

/** Replicas that the exporter serves all the time. */
const REPLICAS = 5;
const PROBE_MS = 2_000;
const PROBES = 4;
/** Time without a byte after which a connection is given up; a session that is well ends by itself. */
const QUIET_MS = 25;
/** What the chart allows each process, or a little more. */
const MAX_RESIDENT_BYTES = { agent: 256 * 2 ** 20, predictor: 1_024 * 2 ** 20, exporter: 512 * 2 ** 20 };

/** An agent, a predictor and an exporter as users run them, and a plan that the exporter follows. */
export class PortsStage {
  readonly agent: RealProcess;
  readonly predictor: RealProcess;
  readonly exporter: RealProcess;
  private readonly client: WireClient;
  private readonly undo: AsyncDisposableStack;

  private constructor(
    processes: readonly [RealProcess, RealProcess, RealProcess],
    undo: AsyncDisposableStack,
  ) {
    [this.agent, this.predictor, this.exporter] = processes;
    this.client = new WireClient(addressOf(this.exporter, "grpc"));
    this.undo = undo;
    undo.defer(() => this.client.close());
  }

  static async start(): Promise<PortsStage> {
    const undo = new AsyncDisposableStack();
    const start = async (command: string, args: readonly string[]): Promise<RealProcess> => {
      const started = await RealProcess.start(command, args);
      undo.defer(async () => started.kill());
      return started;
    };
    try {
      const directory = await mkdtemp(join(tmpdir(), "tradewind-fuzz-ports-"));
      undo.defer(async () => rm(directory, { recursive: true, force: true }));
      const config = join(directory, "app.yaml");
      await writeFile(config, "entry: frontend\nobjective: { milliseconds: 100 }\n");
      const plan = await servePlan();
      undo.defer(plan.stop);
      const free = (flag: string): string[] => [flag, "127.0.0.1:0"];
      const quiet = ["--log-level", "error"];
      const processes = await Promise.all([
        start("agent", [...free("--listen"), "--no-inventory", "--kubernetes", "off", ...quiet]),
        start("predictor", [
          "--config",
          config,
          "--policy",
          "queue",
          "--window",
          "1s",
          ...free("--listen"),
          ...free("--otlp-listen"),
          ...free("--otlp-grpc-listen"),
          ...quiet,
        ]),
        start("exporter", [
          "--predictor",
          plan.url,
          "--stale-after",
          "24h",
          ...free("--listen"),
          ...free("--grpc-listen"),
          ...quiet,
        ]),
      ]);
      return new PortsStage(processes, undo);
    } catch (error) {
      await undo.disposeAsync();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await this.undo.disposeAsync();
  }

  /** @throws Broken when a process is gone, does not answer, answers KEDA with another number or has grown too much */
  async probe(): Promise<void> {
    await this.expectHttp(this.agent);
    await this.expectHttp(this.predictor);
    await this.expectHttp(this.exporter);
    await patiently("the exporter's gRPC port", async () => {
      const ref = { name: "so", namespace: "shop", metadata: { service: "search" } };
      const [metric] = await this.client.metrics(ref, "m");
      if (metric?.int !== REPLICAS || metric.float !== REPLICAS) {
        throw new Broken("number", `KEDA gets ${metric?.int ?? "nothing"} and not ${REPLICAS}`);
      }
    });
  }

  private async expectHttp(each: RealProcess): Promise<void> {
    if (!each.isAlive) throw new Broken("ended", each.ending);
    await patiently(`${each.name}'s /healthz`, async () => {
      const answer = await fetch(`${addressOf(each, "http")}/healthz`, {
        signal: AbortSignal.timeout(PROBE_MS),
      });
      await answer.arrayBuffer();
      if (answer.status !== 200) throw new Error(`status ${answer.status}`);
    });
    const bytes = each.residentBytes();
    const most = MAX_RESIDENT_BYTES[each.name as keyof typeof MAX_RESIDENT_BYTES];
    if (bytes > most) throw new Broken("memory", `${each.name} has ${bytes} bytes`);
  }
}

/** Other processes may have the CPU for a while: only what fails several times in a row is unwell. */
async function patiently(what: string, ask: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await ask();
      return;
    } catch (error) {
      if (error instanceof Broken) throw error;
      if (attempt === PROBES) throw new Broken("silent", `${what} does not answer: ${describeError(error)}`);
    }
  }
}

export const addressOf = ({ addresses }: RealProcess, role: string): string => addresses[role] ?? "";

export function portOf(each: RealProcess, role: string): number {
  const address = addressOf(each, role);
  return Number(address.slice(address.lastIndexOf(":") + 1));
}

async function servePlan(): Promise<{ url: string; stop: () => Promise<void> }> {
  const text = JSON.stringify(planOf([wishOf({ allocation: { replicas: REPLICAS } })]));
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json", etag: '"1"' }).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Sends the bytes in a few pieces and gives back what the server says until it ends, or until nothing more comes. */
export async function exchange(port: number, bytes: Uint8Array): Promise<Buffer> {
  const heard: Buffer[] = [];
  await new Promise<void>((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    let quiet = setTimeout(finish, PROBE_MS);
    const wait = (): void => {
      clearTimeout(quiet);
      quiet = setTimeout(finish, QUIET_MS);
    };
    function finish(): void {
      clearTimeout(quiet);
      socket.destroy();
      resolve();
    }
    socket.on("error", finish).on("close", finish);
    socket.on("data", (chunk: Buffer) => {
      heard.push(chunk);
      wait();
    });
    socket.once("connect", () => {
      const cut = bytes.length >> 1;
      socket.write(bytes.subarray(0, cut));
      setImmediate(() => {
        if (!socket.destroyed) socket.end(bytes.subarray(cut));
        wait();
      });
    });
  });
  return Buffer.concat(heard);
}
