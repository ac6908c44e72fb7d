import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { PATIENCE_MS } from "../node/node.ts";
import type { UsableNode } from "../node/node.ts";
import { BOUNDS, scaledComponents } from "./application.ts";
import type { Contender, JudgedApplication } from "./application.ts";
import { BETWEEN_RUNS_SECONDS, WARM_UP_SECONDS } from "./estimate.ts";
import type { Task } from "./estimate.ts";
import { applicationObjects, hpaObjects } from "./objects.ts";
import { secondsOf } from "./phases.ts";
import { PlanRecord } from "./plan-record.ts";
import { countPods, watchPods } from "./pod-watch.ts";
import { integralsOf, podCounts } from "./pods.ts";
import type { Run } from "./report.ts";
import { chartValues, init, NAMESPACE, Release } from "./tradewind.ts";
import { Users } from "./vegeta.ts";

/** Longest that Tradewind's models are waited for beyond the warm-up. */
const CALIBRATION_MS = 240_000;
const LOOK_MS = 1_000;

/** A node and the programs that a comparison on it uses. */
export interface Stage {
  readonly node: UsableNode;
  readonly api: ApiClient;
  readonly vegeta: string;
  readonly helm: string;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** One contender with one application, on a cluster that holds nothing of an earlier one. */
export class Comparison {
  readonly #stage: Stage;
  readonly #application: JudgedApplication;
  readonly #contender: Contender;
  readonly #folder: string;
  readonly #release: Release;

  private constructor(stage: Stage, application: JudgedApplication, contender: Contender, folder: string) {
    this.#stage = stage;
    this.#application = application;
    this.#contender = contender;
    this.#folder = folder;
    this.#release = new Release(stage.helm, stage.node.kubeconfig);
  }

  /** @param planFile takes the plans of Tradewind's predictors @returns what each run yielded */
  static async run(stage: Stage, { application, contender, runs }: Task, planFile: string): Promise<Run[]> {
    const folder = await mkdtemp(join(tmpdir(), "tradewind-comparison-"));
    const comparison = new Comparison(stage, application, contender, folder);
    try {
      await comparison.#remove();
      await comparison.#install();
      const record = PlanRecord.start(stage.api, planFile);
      try {
        return await comparison.#measure(runs, record);
      } finally {
        await record.stop();
      }
    } finally {
      await comparison.#remove();
      await rm(folder, { recursive: true, force: true });
    }
  }

  async #remove(): Promise<void> {
    const { kubectl } = this.#stage.node;
    await kubectl("delete", "namespace", this.#application.name, "--ignore-not-found", "--wait=true");
    await this.#release.remove();
    // They would go on serving for a while, which nobody needs here.
    await kubectl("delete", "pods", "--all", `--namespace=${NAMESPACE}`, "--grace-period=0", "--force");
    await kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=true");
  }

  /** The application at its minimum and Tradewind beside it, which acts if it is the contender. */
  async #install(): Promise<void> {
    const { kubeconfig, kubectl, apply } = this.#stage.node;
    const { name } = this.#application;
    await kubectl("create", "namespace", name);
    await apply(applicationObjects(this.#application));
    const { scaledObjects, spec } = await init(this.#application, kubeconfig, join(this.#folder, "init"));
    const acts = this.#contender !== "hpa-60";
    await writeFile(this.#scalingFile, JSON.stringify(acts ? scaledObjects : hpaObjects(this.#application)));
    const values = join(this.#folder, "values.json");
    await writeFile(values, JSON.stringify(chartValues(this.#application, spec, this.#contender)));
    await this.#release.install(values);
    const available = ["wait", "--for=condition=Available", "deployments", "--all"];
    await kubectl(...available, `--namespace=${name}`, "--timeout=300s");
  }

  get #scalingFile(): string {
    return join(this.#folder, "scaling.json");
  }

  async #measure(runs: number, record: PlanRecord): Promise<Run[]> {
    const { node, say, signal, vegeta } = this.#stage;
    const { entry, name } = this.#application;
    const place = [`service/${entry}`, `--namespace=${name}`];
    const host = await node.kubectl(
      "get",
      ...place,
      "--output=jsonpath={.spec.clusterIP}:{.spec.ports[0].port}",
    );
    const users = await Users.of(vegeta, this.#application, host);
    let calm = users.calm();
    try {
      record.label = "warm-up";
      await node.kubectl("apply", "--filename", this.#scalingFile);
      await delay(1_000 * WARM_UP_SECONDS, undefined, { signal });
      if (this.#contender !== "hpa-60") await this.#awaitModels(record);
      const results: Run[] = [];
      for (let run = 1; run <= runs; run += 1) {
        if (run > 1) await this.#settle();
        record.label = `run ${run}`;
        say(`${name}, ${this.#contender}: run ${run} of ${runs}`);
        const stopped = calm.stop();
        results.push(await this.#once(users));
        await stopped;
        record.label = `after run ${run}`;
        calm = users.calm();
      }
      return results;
    } finally {
      await calm.stop();
      await users.remove();
    }
  }

  async #awaitModels(record: PlanRecord): Promise<void> {
    const hasModels = async (): Promise<boolean> => Promise.resolve(record.hasModels);
    await this.#until("models decide", hasModels, CALIBRATION_MS).catch((error: unknown) => {
      this.#stage.say(`Tradewind is judged as it is: ${describeError(error)}`);
    });
  }

  /** Looks seldom: what it does takes CPU from the application. */
  async #until(what: string, condition: () => Promise<boolean>, patienceMs = PATIENCE_MS): Promise<void> {
    const deadlineMs = performance.now() + patienceMs;
    while (!(await condition())) {
      if (performance.now() > deadlineMs) throw new Error(`not within ${patienceMs / 1_000} s: ${what}`);
      await delay(LOOK_MS, undefined, { signal: this.#stage.signal });
    }
  }

  /** Takes the contender away, brings every component back to its minimum, and lets it on again. */
  async #settle(): Promise<void> {
    const { api, node, signal } = this.#stage;
    const { name } = this.#application;
    const components = scaledComponents(this.#application);
    const inPlace = `--namespace=${name}`;
    await node.kubectl("delete", "--filename", this.#scalingFile, "--wait=true");
    const left = async (): Promise<string> => node.kubectl("get", "hpa", inPlace, "--output=name");
    await this.#until("no HPA is left", async () => (await left()).trim() === "");
    await node.kubectl("scale", "deployments", "--all", inPlace, `--replicas=${BOUNDS.minReplicas}`);
    const isBack = async (): Promise<boolean> => {
      const { pods } = await countPods(api, name);
      return components.every((component) => pods[component.name] === BOUNDS.minReplicas);
    };
    await this.#until("every component is at its minimum", isBack);
    await node.kubectl("apply", "--filename", this.#scalingFile);
    await delay(1_000 * BETWEEN_RUNS_SECONDS, undefined, { signal });
  }

  async #once(users: Users): Promise<Run> {
    const { api, signal } = this.#stage;
    const { name, phases } = this.#application;
    const startMs = performance.now();
    const watch = watchPods(api, name);
    const endMs = startMs + 1_000 * secondsOf(phases);
    try {
      const outcomes = await users.measure(signal);
      const samples = watch.samples.filter(({ nowMs }) => nowMs < endMs);
      return {
        outcomes,
        ...integralsOf(samples, startMs, endMs),
        pods: podCounts(
          samples,
          startMs,
          scaledComponents(this.#application).map((component) => component.name),
        ),
      };
    } finally {
      await watch.stop();
    }
  }
}
