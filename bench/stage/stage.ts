import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { MAX_REPLICAS, NAMESPACE, NodeOfPods, SERVICES, SPARE_SERVICES, writeFiles } from "./application.ts";
import type { Service } from "./application.ts";
import { EmptyJaeger } from "./jaeger.ts";
import { Load, REQUESTS_PER_SECOND } from "./load.ts";
import { FakePredictor } from "./plans.ts";
import { nowOnClock } from "./poll.ts";
import { Poller } from "./poller.ts";
import { headersOf, haveNewPlans, ratesOf } from "./predictors.ts";
import { RealProcess } from "./process.ts";
import {
  addressOf,
  argumentsOf,
  clockFile,
  environmentOf,
  freePorts,
  GRACE_SECONDS,
  HOSTS,
  hostsFile,
  PEER_NAME,
  PODS,
  stateOf,
  wrapperOf,
} from "./setting.ts";
import type { Part, Pod, Setting, StageKind } from "./setting.ts";
import { readStored } from "./stored.ts";
import type { Stored } from "./stored.ts";
import { Vitals } from "./vitals.ts";

const run = promisify(execFile);

const POLL_EVERY_MS = 50;
const POLL_DEADLINE_MS = 1_000;
const STEADY_MS = 60_000;
const LATEST_MS = 1_500;
/** Chance, and spans that come late for a window, may hide the rest. */
const SEEN_SHARE = 0.75;
/** Makes users wait long enough that no replica may go, and not so long that one is added. */
const SPARE_SLOWNESS = 1.35;
/** What the stores of both pods come to in a few minutes, and little more. */
const SMALL_DISK = "6m";

/** What a stage is made of besides processes. */
interface Props {
  readonly setting: Setting;
  readonly services: readonly Service[];
  readonly node: NodeOfPods;
  readonly plans: FakePredictor | undefined;
  readonly jaeger: EmptyJaeger | undefined;
}

/** Two pods of Tradewind under load, and the client that KEDA is. */
export class Stage {
  readonly services: readonly Service[];
  readonly node: NodeOfPods;
  /** Only where exporters follow it. */
  readonly plans: FakePredictor | undefined;
  /** Only where predictors ask it. */
  readonly jaeger: EmptyJaeger | undefined;
  readonly load: Load;
  readonly vitals: Vitals;
  readonly poller: Poller;
  private readonly setting: Setting;
  private readonly processes = new Map<string, RealProcess>();
  private readonly undo: AsyncDisposableStack;

  private constructor({ jaeger, node, plans, services, setting }: Props, undo: AsyncDisposableStack) {
    this.services = services;
    this.node = node;
    this.plans = plans;
    this.jaeger = jaeger;
    this.setting = setting;
    this.undo = undo;
    this.load = new Load(PODS.map((pod) => this.address(pod, "otlp")));
    this.vitals = new Vitals(() => [...this.processes.values()]);
    undo.defer(() => this.vitals.stop());
    this.poller = new Poller({
      exporters: PODS.map((pod) => this.grpc(pod)),
      namespace: NAMESPACE,
      services: services.map(({ name }) => name),
      everyMs: POLL_EVERY_MS,
      deadlineMs: POLL_DEADLINE_MS,
    });
    undo.defer(async () => this.poller.stop());
  }

  /** Starts everything and waits until both exporters serve the right numbers. */
  static async start(kind: StageKind): Promise<Stage> {
    const undo = new AsyncDisposableStack();
    try {
      const stage = new Stage(await propsOf(kind, undo), undo);
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
    await this.setHosts(HOSTS);
    for (const pod of PODS) await this.setClock(pod, 0);
    this.undo.defer(async () => {
      await Promise.all([...this.processes.values()].map(async (each) => each.kill()));
    });
    if (this.plans === undefined) {
      // The first is the older one, whose plan counts.
      for (const pod of PODS) await this.start(pod, "predictor");
      if (this.setting.kind === "spare") this.load.slowness = SPARE_SLOWNESS;
      this.load.start();
      this.undo.defer(async () => this.load.stop());
    }
    await Promise.all(PODS.map(async (pod) => this.start(pod, "exporter")));
    if (!(await this.becomesSteady(STEADY_MS, nowOnClock()))) {
      const { kind } = this.setting;
      throw new Error(
        `the stage '${kind}' did not come to rest in ${STEADY_MS} ms: ${await this.describe()}`,
      );
    }
    // What is taken away in a fault is then not held back by the start.
    await delay(1e3 * GRACE_SECONDS);
  }

  /** Starts one half of a pod, or starts it again where it was. */
  async start(pod: Pod, part: Part): Promise<void> {
    const options = { env: environmentOf(this.setting, pod), wrapper: wrapperOf(this.setting) };
    const args = argumentsOf(this.setting, pod, part);
    this.processes.set(`${part}/${pod}`, await RealProcess.start(part, args, options));
  }

  process(pod: Pod, part: Part): RealProcess {
    const found = this.processes.get(`${part}/${pod}`);
    if (found === undefined) throw new Error(`there is no ${part} ${pod}`);
    return found;
  }

  /** The processes that are not running. */
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
    return stateOf(this.setting.directory, pod, part);
  }

  get stateRoot(): string {
    return join(this.setting.directory, "state");
  }

  get workloads(): string {
    return this.setting.files.workloads;
  }

  /** `http://…` of a port of a pod: `otlp`, `peers`, `http` (the predictor's API) or `page` (the exporter's). */
  address(pod: Pod, port: "otlp" | "peers" | "http" | "page"): string {
    return addressOf(this.setting.ports, pod, port);
  }

  /** `host:port` of the exporter's port for KEDA. */
  grpc(pod: Pod): string {
    return `${HOSTS[pod]}:${this.setting.ports.grpc}`;
  }

  /** `host:port` of the predictor's port for OTLP over gRPC. */
  otlpGrpc(pod: Pod): string {
    return this.process(pod, "predictor").addresses["grpc"] ?? "";
  }

  /** What the name of the predictors stands for from now on, in the eyes of the processes alone. */
  async setHosts(addresses: readonly string[]): Promise<void> {
    const lines = addresses.map((address) => `${address} ${PEER_NAME}\n`).join("");
    await writeFile(hostsFile(this.setting.directory), `127.0.0.1 localhost\n${lines}`);
  }

  /** Moves the wall clock of a pod by so many seconds from the true one. */
  async setClock(pod: Pod, seconds: number): Promise<void> {
    await writeFile(clockFile(this.setting.directory, pod), `${seconds < 0 ? "" : "+"}${seconds}\n`);
  }

  /** Waits until both exporters serve the right numbers, from complete plans of all traffic, made after this began. */
  async becomesSteady(withinMs: number, sinceMs: number): Promise<boolean> {
    const predictors = this.predictors();
    const before = await headersOf(predictors);
    const endMs = performance.now() + withinMs;
    while (performance.now() < endMs) {
      await delay(100);
      if (!this.servesRight(sinceMs) || !haveNewPlans(before, await headersOf(predictors))) continue;
      if (await this.seesAll()) return true;
    }
    return false;
  }

  /** The largest number that either exporter serves of each service now. */
  served(): ReadonlyMap<string, number> {
    const largest = new Map<string, number>();
    for (const [key, value = 0] of this.poller.latest(nowOnClock(), LATEST_MS)) {
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
    const served = Object.fromEntries(this.poller.latest(nowOnClock(), LATEST_MS));
    const endings = this.dead().map(({ ending }) => ending);
    return JSON.stringify({ served, headers: await headersOf(this.predictors()), endings }).slice(0, 3_000);
  }

  /** Addresses of the predictors that run here. */
  private predictors(): string[] {
    return this.plans === undefined ? PODS.map((pod) => this.address(pod, "http")) : [];
  }

  /** Whether the newest answer of each exporter about each service is a number in its bounds, not below the right one. */
  private servesRight(sinceMs: number): boolean {
    const nowMs = nowOnClock();
    const latest = this.poller.latest(nowMs, Math.min(LATEST_MS, nowMs - sinceMs));
    return PODS.every((pod) =>
      this.services.every(({ name, replicas }) => {
        const value = latest.get(`${pod}/${name}`);
        return value !== undefined && value >= replicas && value <= MAX_REPLICAS;
      }),
    );
  }

  /** Whether both predictors count all requests that users make, and not only those whose spans came to them first. */
  private async seesAll(): Promise<boolean> {
    if (!this.load.isOn) return true;
    const rates = await ratesOf(this.predictors(), "frontend");
    return rates.every((rate) => rate >= SEEN_SHARE * REQUESTS_PER_SECOND);
  }
}

async function propsOf(kind: StageKind, undo: AsyncDisposableStack): Promise<Props> {
  const directory = await mkdtemp(join(tmpdir(), "tradewind-faults-"));
  undo.defer(async () => rm(directory, { recursive: true, force: true }));
  await prepareDisk(join(directory, "state"), kind, undo);
  const services = kind === "spare" ? SPARE_SERVICES : SERVICES;
  const node = await NodeOfPods.start(services);
  undo.defer(async () => node.stop());
  const plans = kind === "fake-plans" ? await FakePredictor.start(services) : undefined;
  undo.defer(async () => plans?.stop());
  const jaeger = kind === "jaeger" ? await EmptyJaeger.start() : undefined;
  undo.defer(async () => jaeger?.stop());
  const sources = `sources:\n  jaeger: [{ url: "${jaeger?.url ?? ""}", timeoutSeconds: 1, graceSeconds: 1 }]\n`;
  const files = await writeFiles(directory, services, jaeger === undefined ? "" : sources);
  const setting = { kind, directory, files, ports: await freePorts(), agent: node.url, plans: plans?.url };
  return { jaeger, node, plans, services, setting };
}

async function prepareDisk(root: string, kind: StageKind, undo: AsyncDisposableStack): Promise<void> {
  await mkdir(root, { recursive: true });
  if (kind !== "small-disk") return;
  await run("mount", ["-t", "tmpfs", "-o", `size=${SMALL_DISK}`, "tmpfs", root]);
  undo.defer(async () => {
    await run("umount", ["--lazy", root]);
  });
}
