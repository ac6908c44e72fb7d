import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { mergeNames, NO_NAMES } from "../container/names.ts";
import type { NameIndex } from "../container/names.ts";
import type { KubernetesNames } from "./kubernetes.ts";
import type { WorkloadsFile } from "./workloads-file.ts";

/** Every source of container names there is; what a later one says wins over what an earlier one says. */
export class NameSources {
  readonly #kubernetes: KubernetesNames | undefined;
  readonly #workloads: WorkloadsFile | undefined;
  readonly #log: Logger;
  #fromKubernetes: NameIndex = NO_NAMES;
  #fromWorkloads: NameIndex = NO_NAMES;
  #failures = 0;
  /** What was logged of the failure that lasts; empty without one. */
  #logged = "";

  constructor(kubernetes: KubernetesNames | undefined, workloads: WorkloadsFile | undefined, log: Logger) {
    this.#kubernetes = kubernetes;
    this.#workloads = workloads;
    this.#log = log;
  }

  get failuresTotal(): number {
    return this.#failures + (this.#kubernetes?.failuresTotal ?? 0);
  }

  start(): void {
    this.#kubernetes?.start();
  }

  stop(): void {
    this.#kubernetes?.stop();
  }

  /** @returns all names when any of them changed; a source that fails keeps what it said last */
  async poll(): Promise<NameIndex | undefined> {
    const pods = this.#kubernetes?.poll();
    if (pods !== undefined) this.#fromKubernetes = pods;
    const listed = await this.#pollWorkloads();
    if (listed !== undefined) this.#fromWorkloads = listed;
    return pods === undefined && listed === undefined
      ? undefined
      : mergeNames([this.#fromKubernetes, this.#fromWorkloads]);
  }

  async #pollWorkloads(): Promise<NameIndex | undefined> {
    try {
      const names = await this.#workloads?.poll();
      this.#logged = "";
      return names;
    } catch (error) {
      this.#failures += 1;
      const message = describeError(error);
      if (message !== this.#logged) this.#log.warn(message);
      this.#logged = message;
      return undefined;
    }
  }
}
