import { setTimeout as delay } from "node:timers/promises";
import { AddressFollower } from "@tradewind/core/net/addresses.ts";
import type { Lookup } from "@tradewind/core/net/addresses.ts";
import { readJsonWith } from "@tradewind/core/values/config.ts";
import { ApplicationList, applicationKey } from "@tradewind/core/contract/application-list.ts";
import type {
  ApplicationState,
  ListedApplication,
  SharedName,
} from "@tradewind/core/contract/application-list.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { PlanClient } from "./plan-client.ts";
import type { PlanClientOptions } from "./plan-client.ts";

/** An application as the predictors know it. */
export interface KnownApplication {
  readonly namespace: string;
  readonly name: string;
  readonly state: ApplicationState;
  readonly problem?: string;
  readonly sharedNames?: readonly SharedName[];
}

/** What the predictors plan; undefined where each plans one application only, or none has been heard of yet. */
export type KnownApplications = readonly KnownApplication[] | undefined;

export interface ApplicationPollOptions extends PlanClientOptions {
  /** As those that plans are asked of. */
  readonly targets: readonly string[];
  readonly everyMs: number;
  readonly log: Logger;
  readonly lookup?: Lookup | undefined;
  readonly serverName?: string | undefined;
  /**
   * Called after each round. The next one waits for it.
   * @param hasAnswer a predictor answered in this round
   * @param only how the only application stands, see {@link onlyState}
   */
  readonly onList: (
    applications: KnownApplications,
    hasAnswer: boolean,
    only: ApplicationState | undefined,
  ) => Promise<void>;
}

const RESOLVE_MS = 5_000;
/** Of states that predictors tell of one application the first of these counts. */
const RANK: readonly ApplicationState[] = ["planned", "invalid", "deleted"];

/** Asks every predictor which applications it plans. What one that does not answer said last stands. */
export class ApplicationPoll {
  readonly #options: ApplicationPollOptions;
  readonly #follower: AddressFollower;
  readonly #clients = new Map<string, PlanClient>();
  readonly #answers = new Map<string, ApplicationList>();
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: ApplicationPollOptions) {
    this.#options = options;
    const { log, lookup, targets } = options;
    this.#follower = new AddressFollower({ targets, everyMs: RESOLVE_MS, log, lookup });
  }

  /** @returns what resolves after the first round */
  start(): Promise<void> {
    const first = Promise.withResolvers<void>();
    this.#running ??= this.#run(first.resolve);
    return first.promise;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#follower.stop();
    await this.#running;
    await Promise.all([...this.#clients.values()].map(async (client) => client.close()));
  }

  async #run(afterFirst: () => void): Promise<void> {
    const { signal } = this.#stopping;
    await this.#follower.start();
    while (!signal.aborted) {
      this.#meet(this.#follower.current());
      const asked = [...this.#clients].map(async ([address, client]) => this.#ask(address, client));
      const hasAnswer = (await Promise.all(asked)).includes(true);
      const lists = [...this.#answers.values()];
      if (!signal.aborted) await this.#options.onList(merged(lists), hasAnswer, onlyState(lists));
      afterFirst();
      await delay(this.#options.everyMs, undefined, { signal }).catch(() => undefined);
    }
    afterFirst();
  }

  #meet(addresses: readonly string[]): void {
    for (const [address, client] of this.#clients) {
      if (addresses.includes(address)) continue;
      this.#clients.delete(address);
      this.#answers.delete(address);
      void client.close();
    }
    for (const address of addresses) {
      if (this.#clients.has(address)) continue;
      const serverName = this.#options.serverName ?? this.#follower.nameOf(address);
      this.#clients.set(address, new PlanClient(address, { ...this.#options, serverName }));
    }
  }

  /** Never throws: a predictor that does not answer is a matter of its plans, which are asked for too. @returns whether it answered */
  async #ask(address: string, client: PlanClient): Promise<boolean> {
    try {
      const body = await client.applications(this.#stopping.signal);
      if (body === undefined) this.#answers.delete(address);
      else
        this.#answers.set(address, readJsonWith(ApplicationList, body.toString("utf8"), "the applications"));
      return true;
    } catch {
      return false;
    }
  }
}

/** @param lists one of each predictor that has answered */
export function merged(lists: readonly ApplicationList[]): KnownApplications {
  if (!lists.some(({ several }) => several)) return undefined;
  const known = new Map<string, KnownApplication>();
  for (const listed of lists.flatMap(({ applications }) => applications)) {
    const application = knownOf(listed);
    if (application === undefined) continue;
    const key = applicationKey(application);
    const before = known.get(key);
    const isMore = before === undefined || RANK.indexOf(application.state) < RANK.indexOf(before.state);
    if (isMore) known.set(key, application);
  }
  return [...known.values()].sort((a, b) => (applicationKey(a) < applicationKey(b) ? -1 : 1));
}

/**
 * How the only application of predictors that plan one each stands; undefined where none of them has said.
 * @param lists one of each predictor that has answered
 */
export function onlyState(lists: readonly ApplicationList[]): ApplicationState | undefined {
  const only = lists.filter(({ several }) => !several).flatMap(({ applications }) => applications);
  return RANK.find((state) => only.some((each) => each.state === state));
}

function knownOf({
  name,
  namespace,
  problem,
  sharedNames,
  state,
}: ListedApplication): KnownApplication | undefined {
  if (name === undefined || namespace === undefined) return undefined;
  return {
    namespace,
    name,
    state,
    ...(problem !== undefined && { problem }),
    ...(sharedNames !== undefined && { sharedNames }),
  };
}
