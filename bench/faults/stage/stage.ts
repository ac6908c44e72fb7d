import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { z } from "zod";
import { MAX_REPLICAS, NAMESPACE, NodeOfPods, SERVICES, writeFiles } from "./application.ts";
import type { Service } from "./application.ts";
import { EmptyJaeger } from "./jaeger.ts";
import { Load, REQUESTS_PER_SECOND } from "./load.ts";
import { FakePredictor } from "./plans.ts";
import { nowOnClock } from "./poll.ts";
import { Poller } from "./poller.ts";
import { RealProcess } from "./process.ts";
import { readStored } from "./stored.ts";
import type { Stored } from "./stored.ts";
import type { ProcessOptions } from "./process.ts";
import { Vitals } from "./vitals.ts";

const run = promisify(execFile);

/**
 * How the processes are set up. `plain`: two pods that know each other by address. The others add one thing: peers found by
 * `dns`, `clocks` that can be moved, a `jaeger` source that is not there, state on a `small-disk`, `spare` replicas that
 * latency asks for and CPU does not, and exporters that follow a predictor of ours (`fake-plans`).
 */
export type StageKind = "plain" | "dns" | "clocks" | "jaeger" | "small-disk" | "spare" | "fake-plans";

const WINDOW_SECONDS = 2;
const STALE_SECONDS = 20;
const GRACE_SECONDS = 4;
const POLL_EVERY_MS = 50;
const POLL_DEADLINE_MS = 1_000;
const STEADY_MS = 60_000;
const FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
const HOSTS = ["127.0.0.2", "127.0.0.3"] as const;
const PEER_NAME = "predictor-peers.test";
/** Chance, and spans that come late for a window, may hide the rest. */
const SEEN_SHARE = 0.75;
/** Replicas of geo that only latency asks for, and its slowness that asks for them. */
const SPARE = { replicas: 8, slowness: 1.35 };
/** Bytes of a disk that the stores of both pods nearly fill. */
const DISK = "6m";

/** The two halves of a pod. */
export type Part = "predictor" | "exporter";
export type Pod = 0 | 1;
export const PODS: readonly Pod[] = [0, 1];

interface Ports {
  readonly otlp: number;
  readonly http: number;
  readonly page: number;
  readonly grpc: number;
}

const Header = z.looseObject({
  sequence: z.number(),
  predictorStartedAtMs: z.number(),
  complete: z.boolean().optional(),
});

const Windows = z.looseObject({
  windows: z.array(z.looseObject({ service: z.string(), requestsPerSecond: z.number().optional() })),
});

/** Two pods of Tradewind under load, and the client that KEDA is. */
export class Stage {
  readonly kind: StageKind;
  readonly directory: string;
  readonly services: readonly Service[];
  readonly load: Load;
  readonly node: NodeOfPods;
  readonly vitals: Vitals;
  /** Only where exporters follow it. */
  readonly plans: FakePredictor | undefined;
  /** Only where predictors ask it. */
  readonly jaeger: EmptyJaeger | undefined;
  poller!: Poller;
  private readonly ports: Ports;
  private readonly processes = new Map<string, RealProcess>();
  private readonly undo: AsyncDisposableStack;
  private files!: { config: string; workloads: string };

  private constructor(
    kind: StageKind,
    directory: string,
    parts: Pick<Stage, "jaeger" | "node" | "plans" | "services"> & { ports: Ports },
    undo: AsyncDisposableStack,
  ) {
    this.kind = kind;
    this.directory = directory;
    this.services = parts.services;
    this.node = parts.node;
    this.plans = parts.plans;
    this.jaeger = parts.jaeger;
    this.ports = parts.ports;
    this.undo = undo;
    this.load = new Load(PODS.map((pod) => this.address(pod, "otlp")));
    this.vitals = new Vitals(() => [...this.processes.values()]);
  }

  /** Starts everything and waits until both exporters serve the right numbers. */
  static async start(kind: StageKind): Promise<Stage> {
    const undo = new AsyncDisposableStack();
    try {
      const directory = await mkdtemp(join(tmpdir(), "tradewind-faults-"));
      undo.defer(async () => rm(directory, { recursive: true, force: true }));
      const services = SERVICES.map((each) =>
        kind === "spare" && each.name === "geo" ? { ...each, replicas: SPARE.replicas } : each,
      );
      const node = await NodeOfPods.start(services);
      undo.defer(async () => node.stop());
      const plans = kind === "fake-plans" ? await FakePredictor.start(services) : undefined;
      if (plans !== undefined) undo.defer(async () => plans.stop());
      const jaeger = kind === "jaeger" ? await EmptyJaeger.start() : undefined;
      if (jaeger !== undefined) undo.defer(async () => jaeger.stop());
      const [otlp = 0, http = 0, page = 0, grpc = 0] = await freePorts(4);
      const stage = new Stage(
        kind,
        directory,
        { jaeger, node, plans, services, ports: { otlp, http, page, grpc } },
        undo,
      );
      await stage.raise();
      return stage;
    } catch (error) {
      await undo.disposeAsync();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await this.undo.disposeAsync();
  }

  private async raise(): Promise<void> {
    this.undo.defer(() => this.vitals.stop());
    this.files = await writeFiles(this.directory, this.services, this.sources());
    await this.prepareDisk();
    await this.setHosts(HOSTS);
    for (const pod of PODS) await this.setClock(pod, 0);
    this.undo.defer(async () => {
      await Promise.all([...this.processes.values()].map(async (each) => each.kill()));
    });
    if (this.plans === undefined) {
      // The first is the older one, whose plan counts.
      for (const pod of PODS) await this.start(pod, "predictor");
      if (this.kind === "spare") this.load.slowness = SPARE.slowness;
      this.load.start();
      this.undo.defer(async () => this.load.stop());
    }
    await Promise.all(PODS.map(async (pod) => this.start(pod, "exporter")));
    this.poller = new Poller({
      exporters: PODS.map((pod) => this.grpc(pod)),
      namespace: NAMESPACE,
      services: this.services.map(({ name }) => name),
      everyMs: POLL_EVERY_MS,
      deadlineMs: POLL_DEADLINE_MS,
    });
    this.undo.defer(async () => this.poller.stop());
    if (!(await this.becomesSteady(STEADY_MS, nowOnClock()))) {
      throw new Error(
        `the stage '${this.kind}' did not come to rest within ${STEADY_MS / 1e3} s: ${await this.describe()}`,
      );
    }
    // What is taken away in a fault is then not held back by the start.
    await delay(1e3 * GRACE_SECONDS);
  }

  /** Starts one half of a pod, or starts it again where it was. */
  async start(pod: Pod, part: Part, options: ProcessOptions = {}): Promise<void> {
    const args = part === "predictor" ? this.predictorArguments(pod) : this.exporterArguments(pod);
    const env = { ...this.clockEnvironment(pod), ...options.env };
    const wrapper = [...this.hostsWrapper(), ...(options.wrapper ?? [])];
    this.processes.set(`${part}/${pod}`, await RealProcess.start(part, args, { env, wrapper }));
  }

  process(pod: Pod, part: Part): RealProcess {
    const found = this.processes.get(`${part}/${pod}`);
    if (found === undefined) throw new Error(`there is no ${part} ${pod}`);
    return found;
  }

  /** The processes that have ended though nobody ended them. */
  dead(): readonly RealProcess[] {
    return [...this.processes.values()].filter(({ isAlive }) => !isAlive);
  }

  /** Starts again whatever is not running. */
  async heal(): Promise<void> {
    for (const pod of PODS) {
      for (const part of ["predictor", "exporter"] as const) {
        if (this.processes.get(`${part}/${pod}`)?.isAlive === false) await this.start(pod, part);
      }
    }
  }

  stateOf(pod: Pod, part: Part): string {
    return join(this.directory, "state", `${part}-${pod}`);
  }

  get stateRoot(): string {
    return join(this.directory, "state");
  }

  get workloads(): string {
    return this.files.workloads;
  }

  /** `http://…` of a port of a pod: `otlp`, `http` (the predictor's API) or `page` (the exporter's). */
  address(pod: Pod, port: "otlp" | "http" | "page"): string {
    return `http://${HOSTS[pod]}:${this.ports[port]}`;
  }

  /** `host:port` of the exporter's port for KEDA. */
  grpc(pod: Pod): string {
    return `${HOSTS[pod]}:${this.ports.grpc}`;
  }

  otlpGrpc(pod: Pod): string {
    return this.process(pod, "predictor").addresses["grpc"] ?? "";
  }

  /** What the name of the predictors stands for from now on, in the eyes of the processes alone. */
  async setHosts(addresses: readonly string[]): Promise<void> {
    const lines = addresses.map((address) => `${address} ${PEER_NAME}\n`).join("");
    await writeFile(join(this.directory, "hosts"), `127.0.0.1 localhost\n${lines}`);
  }

  /** Moves the wall clock of a pod by so many seconds from the true one. */
  async setClock(pod: Pod, seconds: number): Promise<void> {
    await writeFile(join(this.directory, `clock-${pod}`), `${seconds < 0 ? "" : "+"}${seconds}\n`);
  }

  /** Waits until both exporters serve at least the right numbers, from complete plans made after `sinceMs`. */
  async becomesSteady(withinMs: number, sinceMs: number): Promise<boolean> {
    const before = await this.headers();
    const endMs = performance.now() + withinMs;
    while (performance.now() < endMs) {
      await delay(100);
      if (this.servesRight(sinceMs) && (await this.plansAnew(before)) && (await this.seesAll())) return true;
    }
    return false;
  }

  /** Whether the newest answer of each exporter about each service is a number in its bounds, not below the right one. */
  private servesRight(sinceMs: number): boolean {
    const nowMs = nowOnClock();
    const latest = this.poller.latest(nowMs, Math.min(1_000, nowMs - sinceMs));
    return PODS.every((pod) =>
      this.services.every(({ name, replicas }) => {
        const value = latest.get(`${pod}/${name}`);
        return value !== undefined && value >= replicas && value <= MAX_REPLICAS;
      }),
    );
  }

  private async plansAnew(before: readonly (z.infer<typeof Header> | undefined)[]): Promise<boolean> {
    if (this.plans !== undefined) return true;
    const now = await this.headers();
    return now.every((header, pod) => {
      const old = before[pod];
      const isNew =
        old?.sequence !== header?.sequence || old?.predictorStartedAtMs !== header?.predictorStartedAtMs;
      return header !== undefined && header.complete !== false && isNew;
    });
  }

  /** Whether both predictors count all requests that users make, and not only those whose spans came to them first. */
  private async seesAll(): Promise<boolean> {
    if (this.plans !== undefined || !this.load.isOn) return true;
    const rates = await Promise.all(
      PODS.map(async (pod) => {
        const set = await this.ask(pod, "/v1/windows", Windows);
        return set?.windows.find(({ service }) => service === "frontend")?.requestsPerSecond ?? 0;
      }),
    );
    return rates.every((rate) => rate >= SEEN_SHARE * REQUESTS_PER_SECOND);
  }

  private async ask<Schema extends z.ZodType>(
    pod: Pod,
    path: string,
    schema: Schema,
  ): Promise<z.output<Schema> | undefined> {
    try {
      const answer = await fetch(`${this.address(pod, "http")}${path}`, {
        signal: AbortSignal.timeout(1_000),
      });
      return schema.parse(await answer.json());
    } catch {
      return undefined;
    }
  }

  private async headers(): Promise<(z.infer<typeof Header> | undefined)[]> {
    if (this.plans !== undefined) return [];
    return Promise.all(PODS.map(async (pod) => this.ask(pod, "/v1/plan/header", Header)));
  }

  /** The largest number that either exporter serves of each service now. */
  served(): ReadonlyMap<string, number> {
    const largest = new Map<string, number>();
    for (const [key, value = 0] of this.poller.latest(nowOnClock(), 1_500)) {
      const service = key.slice(key.indexOf("/") + 1);
      largest.set(service, Math.max(largest.get(service) ?? 0, value));
    }
    return largest;
  }

  /** What is on the disks of both pods. */
  stored(): readonly Stored[] {
    return PODS.map((pod) => readStored(this.stateOf(pod, "exporter"), this.stateOf(pod, "predictor")));
  }

  /** What is so now, for an error message. */
  async describe(): Promise<string> {
    const latest = this.poller.latest(nowOnClock(), 2_000);
    const endings = this.dead().map(({ ending }) => ending);
    return JSON.stringify({
      served: Object.fromEntries(latest),
      headers: await this.headers(),
      endings,
    }).slice(0, 3_000);
  }

  private sources(): string {
    if (this.jaeger === undefined) return "";
    return `sources:\n  jaeger: [{ url: "${this.jaeger.url}", timeoutSeconds: 1, graceSeconds: 1 }]\n`;
  }

  private predictorArguments(pod: Pod): string[] {
    const { config, workloads } = this.files;
    const port = (role: "otlp" | "http"): string => `${HOSTS[pod]}:${this.ports[role]}`;
    const peers =
      this.kind === "dns"
        ? [`dns+http://${PEER_NAME}:${this.ports.otlp}`]
        : PODS.map((each) => this.address(each, "otlp"));
    return [
      ...["--config", config, "--workloads", workloads, "--agents", this.node.url],
      ...["--listen", port("http"), "--otlp-listen", port("otlp"), "--otlp-grpc-listen", `${HOSTS[pod]}:0`],
      ...["--peers", peers.join(), "--window", `${WINDOW_SECONDS}s`, "--policy", "queue"],
      ...["--state", this.stateOf(pod, "predictor"), "--log-level", "warn"],
    ];
  }

  private exporterArguments(pod: Pod): string[] {
    const others =
      this.kind === "dns"
        ? [`dns+http://${PEER_NAME}:${this.ports.http}`]
        : PODS.map((each) => this.address(each, "http"));
    const predictors = this.plans === undefined ? [this.address(pod, "http"), ...others] : [this.plans.url];
    return [
      ...["--listen", `${HOSTS[pod]}:${this.ports.page}`, "--grpc-listen", this.grpc(pod)],
      ...["--predictor", [...new Set(predictors)].join(), "--stale-after", `${STALE_SECONDS}s`],
      ...[
        "--restart-grace",
        `${GRACE_SECONDS}s`,
        "--state",
        this.stateOf(pod, "exporter"),
        "--log-level",
        "warn",
      ],
    ];
  }

  private clockEnvironment(pod: Pod): Record<string, string> {
    if (this.kind !== "clocks") return {};
    return {
      LD_PRELOAD: FAKETIME,
      FAKETIME_TIMESTAMP_FILE: join(this.directory, `clock-${pod}`),
      FAKETIME_CACHE_DURATION: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    };
  }

  /** A mount namespace of its own, in which another file is `/etc/hosts`. */
  private hostsWrapper(): string[] {
    if (this.kind !== "dns") return [];
    const bind = `mount --bind '${join(this.directory, "hosts")}' /etc/hosts && exec "$@"`;
    return ["unshare", "--mount", "sh", "-c", bind, "sh"];
  }

  private async prepareDisk(): Promise<void> {
    const root = this.stateRoot;
    await mkdir(root, { recursive: true });
    if (this.kind !== "small-disk") return;
    await run("mount", ["-t", "tmpfs", "-o", `size=${DISK}`, "tmpfs", root]);
    this.undo.defer(async () => {
      await run("umount", ["--lazy", root]);
    });
  }
}

/** Why a stage of this kind cannot be had here; undefined when it can. */
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
async function freePorts(count: number): Promise<number[]> {
  const found: number[] = [];
  while (found.length < count) {
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
  return found;
}
