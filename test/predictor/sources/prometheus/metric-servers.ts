import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../../free-port.ts";
import { waitUntil } from "../../../wait-until.ts";

export interface MetricServer {
  readonly url: string;
  /** Waits until what was pushed can be queried. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

async function started(
  directory: string,
  child: ChildProcess,
  url: string,
  ready: string,
  settled: () => Promise<void>,
): Promise<MetricServer> {
  const ended = new Promise((resolve) => child.once("close", resolve));
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    await waitUntil(
      async () => (await fetch(`${url}${ready}`).catch(() => undefined))?.ok === true,
      20_000,
      `${url} to be ready`,
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, settled, stop };
}

/** A real Prometheus on a free port that takes remote writes and scrapes nothing. */
export async function startPrometheus(program: string): Promise<MetricServer> {
  const directory = mkdtempSync(join(tmpdir(), "tradewind-prometheus-"));
  writeFileSync(join(directory, "prometheus.yml"), "global: {}\n");
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    program,
    [
      `--config.file=${directory}/prometheus.yml`,
      `--storage.tsdb.path=${directory}/data`,
      `--web.listen-address=${address}`,
      "--web.enable-remote-write-receiver",
      "--enable-feature=native-histograms",
      "--log.level=error",
    ],
    { stdio: "ignore" },
  );
  return started(directory, child, `http://${address}`, "/-/ready", async () => Promise.resolve());
}

/** A real single-node VictoriaMetrics on a free port. */
export async function startVictoriaMetrics(program: string): Promise<MetricServer> {
  const directory = mkdtempSync(join(tmpdir(), "tradewind-victoria-"));
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    program,
    [
      `-storageDataPath=${directory}`,
      `-httpListenAddr=${address}`,
      "-retentionPeriod=1y",
      "-loggerLevel=ERROR",
    ],
    { stdio: "ignore" },
  );
  const url = `http://${address}`;
  return started(directory, child, url, "/health", async () => {
    await fetch(`${url}/internal/force_flush`);
  });
}
