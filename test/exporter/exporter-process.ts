import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import type { FakePredictor } from "./fake-predictor.ts";
import { WireClient } from "./serve/keda/wire-client.ts";

const script = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));

interface Ready {
  readonly process: string;
  readonly ready: boolean;
  readonly addresses: { readonly http: string; readonly grpc: string };
}

export interface ExporterProcess {
  readonly child: ChildProcess;
  readonly http: string;
  /** `host:port` */
  readonly grpc: string;
  readonly client: WireClient;
  /** What it has written to standard error. */
  readonly log: () => string;
  list(): Promise<RecommendationList>;
  /** @returns the exit code, null after a signal that leaves none */
  kill(signal: NodeJS.Signals): Promise<number | null>;
}

/** How an exporter is started. */
export interface Launch {
  /** What stands before `cli/main.ts` on the command line. */
  readonly before?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A real exporter process; the first line it prints says where it listens. Later flags replace earlier ones. */
export async function exporterProcess(
  predictor: Pick<FakePredictor, "url">,
  state: string,
  ...more: string[]
): Promise<ExporterProcess> {
  return launchExporter({}, predictor, state, ...more);
}

export async function launchExporter(
  { before = [process.execPath], env = {} }: Launch,
  predictor: Pick<FakePredictor, "url">,
  state: string,
  ...more: string[]
): Promise<ExporterProcess> {
  const args = ["--listen", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0", "--predictor", predictor.url];
  const [program = process.execPath, ...flags] = before;
  const child = spawn(program, [...flags, script, "exporter", ...args, "--state", state, ...more], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  const { addresses, ...rest } = JSON.parse(line) as Ready;
  expect(rest).toEqual({ process: "exporter", ready: true });
  const client = new WireClient(addresses.grpc);
  onTestFinished(() => client.close());
  return {
    child,
    ...addresses,
    client,
    log: () => log,
    list: async () =>
      RecommendationList.parse(await (await fetch(`${addresses.http}/v1/recommendations`)).json()),
    kill: async (signal) => {
      const exited = once(child, "exit") as Promise<[number | null]>;
      child.kill(signal);
      return (await exited)[0];
    },
  };
}
