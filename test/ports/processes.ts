import { onTestFinished } from "vitest";
import { startAgent } from "@tradewind/agent/agent.ts";
import { AgentOptions } from "@tradewind/agent/options.ts";
import type { Running } from "@tradewind/core/process/running.ts";
import { startExporter } from "@tradewind/exporter/exporter.ts";
import { startPredictor } from "@tradewind/predictor/predictor.ts";
import { fakePredictor } from "../exporter/fake-predictor.ts";
import { planOf, wishOf } from "../exporter/wish.ts";
import { RunningApplication } from "../predictor/running-application.ts";

/** How the HTTP port of a process is closed. */
export interface Door {
  readonly httpTokenFile?: string;
  readonly allowedHosts?: string[];
  readonly httpTls?: { readonly cert: string; readonly key: string; readonly refreshMs?: number };
}
export interface Process {
  readonly start: (door: Door) => Promise<Running>;
  /** What a client wants of it. */
  readonly path: string;
  /** Connections that it once took before it refused all others. */
  readonly connections: number;
}

export const ANY = "127.0.0.1:0";
export const LISTEN = { listen: ANY, probeListen: ANY };

/** Each process as it runs, with its ports. */
export const PROCESSES: Record<string, Process> = {
  agent: {
    start: async (door) =>
      startAgent(AgentOptions.parse({ ...LISTEN, ...door, inventory: false, logLevel: "silent" })),
    path: "/v1/snapshot",
    connections: 64,
  },
  predictor: {
    start: async (door) => {
      const application = await RunningApplication.start();
      onTestFinished(async () => application.stop());
      const { config } = application;
      return startPredictor({ ...LISTEN, ...door, otlpListen: ANY, config, logLevel: "silent" });
    },
    path: "/metrics",
    connections: 256,
  },
  exporter: {
    start: async (door) => {
      const predictor = await fakePredictor(planOf([wishOf()]));
      onTestFinished(async () => predictor.stop());
      return startExporter({
        ...LISTEN,
        ...door,
        grpcListen: ANY,
        predictor: predictor.url,
        logLevel: "silent",
      });
    },
    path: "/",
    connections: 512,
  },
};

export async function started({ start }: Process, door: Door = {}): Promise<{ http: string; probe: string }> {
  const running = await start(door);
  onTestFinished(async () => running.stop());
  const { http, probe } = running.addresses;
  return { http: http!, probe: probe! };
}
