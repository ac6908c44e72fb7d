import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * How the processes are set up. `plain`: two pods that know each other by address. The others add one thing: peers found by
 * `dns`, `clocks` that can be moved, a `jaeger` source beside OTLP, state on a `small-disk`, `spare` replicas that latency asks
 * for and CPU does not, and exporters that follow a predictor of ours (`fake-plans`).
 */
export type StageKind = "plain" | "dns" | "clocks" | "jaeger" | "small-disk" | "spare" | "fake-plans";

export type Pod = 0 | 1;
export const PODS: readonly Pod[] = [0, 1];
/** The two halves of a pod. */
export type Part = "predictor" | "exporter";

const WINDOW_SECONDS = 2;
/** As many windows as the five minutes of the chart are of 15 s. */
const STALE_SECONDS = 40;
/** Nothing is scaled down for so long after a start. */
export const GRACE_SECONDS = 4;
const FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
/** Addresses of the two pods. */
export const HOSTS = ["127.0.0.2", "127.0.0.3"] as const;
export const PEER_NAME = "predictor-peers.test";

/** Ports that every pod has on its own address. */
export interface Ports {
  readonly otlp: number;
  readonly peers: number;
  readonly http: number;
  readonly page: number;
  readonly grpc: number;
}

/** What the command lines are made of. */
export interface Setting {
  readonly kind: StageKind;
  readonly directory: string;
  readonly ports: Ports;
  readonly files: { readonly config: string; readonly workloads: string; readonly secret: string };
  readonly agent: string;
  /** The predictor of ours, where exporters follow one. */
  readonly plans: string | undefined;
}

export const addressOf = (ports: Ports, pod: Pod, port: "otlp" | "peers" | "http" | "page"): string =>
  `http://${HOSTS[pod]}:${ports[port]}`;

export const stateOf = (directory: string, pod: Pod, part: Part): string =>
  join(directory, "state", `${part}-${pod}`);

export function argumentsOf(setting: Setting, pod: Pod, part: Part): string[] {
  return part === "predictor" ? predictorArguments(setting, pod) : exporterArguments(setting, pod);
}

function predictorArguments({ agent, directory, files, kind, ports }: Setting, pod: Pod): string[] {
  const known = PODS.map((each) => addressOf(ports, each, "peers"));
  const peers = kind === "dns" ? [`dns+http://${PEER_NAME}:${ports.peers}`] : known;
  return Object.entries({
    "--config": files.config,
    "--workloads": files.workloads,
    "--agents": agent,
    "--listen": `${HOSTS[pod]}:${ports.http}`,
    "--otlp-listen": `${HOSTS[pod]}:${ports.otlp}`,
    "--otlp-grpc-listen": `${HOSTS[pod]}:0`,
    "--peers": peers.join(),
    "--peers-listen": `${HOSTS[pod]}:${ports.peers}`,
    "--peers-secret-file": files.secret,
    "--probe-listen": `${HOSTS[pod]}:0`,
    "--window": `${WINDOW_SECONDS}s`,
    "--policy": "queue",
    "--state": stateOf(directory, pod, "predictor"),
    "--log-level": "warn",
  }).flat();
}

function exporterArguments({ directory, files, kind, plans, ports }: Setting, pod: Pod): string[] {
  const own = addressOf(ports, pod, "http");
  const others = PODS.filter((each) => each !== pod).map((each) => addressOf(ports, each, "http"));
  const predictors = [own, ...(kind === "dns" ? [`dns+http://${PEER_NAME}:${ports.http}`] : others)];
  return Object.entries({
    "--listen": `${HOSTS[pod]}:${ports.page}`,
    "--grpc-listen": `${HOSTS[pod]}:${ports.grpc}`,
    "--predictor": plans ?? predictors.join(),
    "--config": files.config,
    "--probe-listen": `${HOSTS[pod]}:0`,
    "--stale-after": `${STALE_SECONDS}s`,
    "--restart-grace": `${GRACE_SECONDS}s`,
    "--state": stateOf(directory, pod, "exporter"),
    "--log-level": "warn",
  }).flat();
}

/** The file that says by how much the wall clock of a pod is wrong. */
export const clockFile = (directory: string, pod: Pod): string => join(directory, `clock-${pod}`);

export function environmentOf({ directory, kind }: Setting, pod: Pod): Record<string, string> {
  if (kind !== "clocks") return {};
  return {
    LD_PRELOAD: FAKETIME,
    FAKETIME_TIMESTAMP_FILE: clockFile(directory, pod),
    FAKETIME_CACHE_DURATION: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  };
}

export const hostsFile = (directory: string): string => join(directory, "hosts");

/** A mount namespace of its own, in which a file of ours is `/etc/hosts`. */
export function wrapperOf({ directory, kind }: Setting): string[] {
  if (kind !== "dns") return [];
  const bind = `mount --bind '${hostsFile(directory)}' /etc/hosts && exec "$@"`;
  return ["unshare", "--mount", "sh", "-c", bind, "sh"];
}

/** Why a stage of this kind cannot be had here; undefined when it can. Installs faketime where root may. */
export async function whyNot(kind: StageKind): Promise<string | undefined> {
  const isRoot = process.getuid?.() === 0;
  if ((kind === "dns" || kind === "small-disk") && !isRoot) return "needs root, to mount";
  if (kind === "dns") {
    const works = await run("unshare", ["--mount", "true"]).then(
      () => true,
      () => false,
    );
    return works ? undefined : "needs mount namespaces (unshare --mount)";
  }
  if (kind !== "clocks" || existsSync(FAKETIME)) return undefined;
  if (isRoot) await run("apt-get", ["install", "--yes", "faketime"]).catch(() => undefined);
  return existsSync(FAKETIME) ? undefined : "needs libfaketime: apt-get install faketime";
}

/** Ports that are free on the addresses of both pods. */
export async function freePorts(): Promise<Ports> {
  const found: number[] = [];
  while (found.length < 5) {
    const first = createServer();
    await new Promise<void>((resolve) => first.listen(0, HOSTS[0], resolve));
    const { port } = first.address() as AddressInfo;
    const second = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      second.once("error", () => resolve(false)).listen(port, HOSTS[1], () => resolve(true));
    });
    first.close();
    second.close();
    if (isFree && !found.includes(port)) found.push(port);
  }
  const [otlp = 0, peers = 0, http = 0, page = 0, grpc = 0] = found;
  return { otlp, peers, http, page, grpc };
}
