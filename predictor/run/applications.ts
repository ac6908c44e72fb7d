import { applicationKey, MOST_SHARED_NAMES } from "@tradewind/core/contract/application-list.ts";
import type { ListedApplication, SharedName } from "@tradewind/core/contract/application-list.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import { inFairOrder } from "@tradewind/core/net/fair-share.ts";
import { RetentionTime } from "@tradewind/core/process/retention-time.ts";
import type {
  FollowedApplication,
  FollowedApplications,
} from "@tradewind/kubernetes/application/followed.ts";
import { adoptState, removeOldStates, stateDirectory } from "./application/application-state.ts";
import { Dispatch } from "./dispatch.ts";
import { InOrder } from "./in-order.ts";
import { KeptNames } from "./kept-names.ts";
import { isPlanner } from "./planners.ts";
import { PlannedApplication } from "./application/planned-application.ts";
import type { OwnParts, SharedParts } from "./application/parts.ts";
import { statesIn } from "./application/memory.ts";
import { Claims } from "../window/claims.ts";
import type { Claim } from "../window/claims.ts";
import { NameHolders, readNameHolders } from "../window/name-holders.ts";
import type { AddResult, ArrivalDrop } from "../window/drops.ts";
import type { DurationPoint } from "../sources/otlp/pushed-metrics/durations.ts";
import type { OnDurations } from "../sources/otlp/pushed-metrics/metric-intake.ts";
import type { SpanBatch } from "../window/span.ts";

/** What is planned: one application, or several that come and go. */
export interface Applications {
  readonly several: boolean;
  /** Those that are planned now, in the order in which they are decided on. */
  planned(): readonly PlannedApplication[];
  list(): readonly ListedApplication[];
  /** Why it is not known yet what is to be planned. */
  whyNot(): string | undefined;
  take(batch: SpanBatch): AddResult;
  /** Takes histograms of durations that processes pushed. */
  takeDurations(points: readonly DurationPoint[]): ReturnType<OnDurations>;
  /** Spans that no application got, by why. */
  drops(): Readonly<Partial<Record<ArrivalDrop, number>>>;
  /** A window is over: what runs may have changed. */
  windowClosed(): void;
  /** What the policies remember, as JSON, for peers; undefined before the first decision. */
  remembered(): string | undefined;
  begin(peers: OtherPredictors | undefined): Promise<void>;
  stop(): Promise<void>;
}

/** The other predictors, as this one sees them. */
export interface OtherPredictors {
  /** Names this predictor among them. */
  readonly instance: string;
  /** Names of those that answer now. */
  answering(): readonly string[];
  /** Resolves once all that are known were tried. */
  met(): Promise<void>;
  /** What their policies remember. */
  askStates(): Promise<readonly string[]>;
}

/** The one application of a predictor: all that the predictor sees is of it. */
export class OnlyApplication implements Applications {
  readonly several = false;
  readonly #only: PlannedApplication;
  readonly #origin: string;
  readonly #current: OwnParts["current"];
  readonly #problem: () => string | undefined;

  private constructor(
    only: PlannedApplication,
    origin: string,
    current: OwnParts["current"],
    problem: () => string | undefined,
  ) {
    this.#only = only;
    this.#origin = origin;
    this.#current = current;
    this.#problem = problem;
  }

  /** @param origin where it is configured, and what is wrong with its newest configuration */
  static async open(
    shared: SharedParts,
    own: OwnParts,
    origin: { readonly text: string; readonly problem: () => string | undefined },
  ): Promise<OnlyApplication> {
    return new OnlyApplication(
      await PlannedApplication.open(shared, own),
      origin.text,
      own.current,
      origin.problem,
    );
  }

  planned(): readonly PlannedApplication[] {
    return [this.#only];
  }

  list(): readonly ListedApplication[] {
    const problem = this.#problem();
    const state = this.#current() === undefined ? "deleted" : "planned";
    return [
      {
        ...listed(this.#only, this.#origin),
        state,
        ...(problem !== undefined && { problem: problem.slice(0, 1_000) }),
      },
    ];
  }

  whyNot(): string | undefined {
    return undefined;
  }

  take(batch: SpanBatch): AddResult {
    return this.#only.take(batch);
  }

  takeDurations(points: readonly DurationPoint[]): ReturnType<OnDurations> {
    return this.#only.takeDurations(points);
  }

  drops(): Readonly<Partial<Record<ArrivalDrop, number>>> {
    return {};
  }

  windowClosed(): void {
    // Whatever changed, all of it is of this one.
  }

  remembered(): string | undefined {
    return this.#only.remembered();
  }

  async begin(peers: OtherPredictors | undefined): Promise<void> {
    await this.#only.begin(async () => (await peers?.askStates()) ?? []);
  }

  async stop(): Promise<void> {
    await this.#only.stop();
  }
}

export interface SeveralParts {
  readonly shared: SharedParts;
  readonly workloads: () => WorkloadList | undefined;
  /** How many of the predictors plan each application; absent: all of them. */
  readonly plannersPerApplication?: number | undefined;
}

/** A list of what runs may be this old when the next application looks at it: it is put together anew for none of them. */
const LIST_MS = 1_000;
/** Services that a problem names. */
const MOST_NAMES = 10;
/** An application that others plan now is planned on here for so long: by then they have learnt from windows of their own. */
const HANDOVER_MS = 5 * 60_000;
const CLEAN_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** Several applications, each planned for itself. */
export class SeveralApplications implements Applications {
  readonly several = true;
  readonly #parts: SeveralParts;
  readonly #followed: FollowedApplications;
  readonly #running = new Map<string, PlannedApplication>();
  readonly #failed = new Map<string, string>();
  readonly #changes = new InOrder();
  readonly #dispatch: Dispatch;
  /** By which states grow old. */
  readonly #time: RetentionTime;
  #claims: Claims;
  #list: KnownWorkloads | undefined;
  readonly #holders = new NameHolders();
  readonly #kept: KeptNames;
  #keptMs = Number.NEGATIVE_INFINITY;
  /** By key of an application, its services whose names others have too. */
  #shared: ReadonlyMap<string, readonly SharedName[]> = new Map();
  #cleaner: NodeJS.Timeout | undefined;
  #peers: OtherPredictors | undefined;
  /** Applications that other predictors plan, found anew for each window: spans ask for it one by one. */
  #elsewhere: ReadonlySet<string> = new Set();
  /** Since when others plan what is still planned here, by application. Monotonic, ms */
  readonly #leaving = new Map<string, number>();

  /** @param follow makes what follows the configurations, given what to call after each change */
  constructor(parts: SeveralParts, follow: (onChange: () => void) => FollowedApplications) {
    this.#parts = parts;
    this.#time = new RetentionTime(parts.shared.clock);
    this.#claims = this.#claimsOf([]);
    const { log, metrics, options } = parts.shared;
    this.#kept = new KeptNames(options.state, log, () => metrics.stateFailed());
    this.#dispatch = new Dispatch({
      claim: (namespace, service) => this.#claims.of(namespace, service),
      intake: (key) => {
        const running = this.#running.get(key);
        if (running !== undefined) return (batch) => running.take(batch);
        return this.#elsewhere.has(key) ? leaveToOthers : undefined;
      },
    });
    this.#followed = follow(() => this.#changed());
  }

  /** Of each namespace the smallest first, so that none waits for more than one application of another tenant. */
  planned(): readonly PlannedApplication[] {
    return inFairOrder(
      [...this.#running.values()],
      ({ application: { namespace } }) => namespace,
      ({ published }) => published.windows()?.windows.length ?? 0,
    );
  }

  list(): readonly ListedApplication[] {
    return this.#followed.list().map((each) => this.#listed(each));
  }

  #listed({ application, name, namespace, origin, problem, state }: FollowedApplication): ListedApplication {
    const key = application && applicationKey(application);
    const running = key === undefined ? undefined : this.#running.get(key);
    const sharedNames = this.#shared.get(key ?? "");
    const problems = [
      problem,
      this.#failed.get(key ?? ""),
      application && this.#unnamed(application),
      application && this.#parts.shared.workloadProblem(application),
    ];
    const text = problems
      .filter((each) => each !== undefined)
      .join("; ")
      .slice(0, 1_000);
    const base =
      running === undefined
        ? { ...(namespace && { namespace }), ...(name && { name }), origin }
        : listed(running, origin);
    return {
      ...base,
      state,
      ...(text !== "" && { problem: text }),
      ...(sharedNames && { sharedNames: [...sharedNames] }),
    };
  }

  whyNot(): string | undefined {
    return this.#followed.whyNot();
  }

  take(batch: SpanBatch): AddResult {
    return this.#dispatch.add(batch);
  }

  takeDurations(points: readonly DurationPoint[]): ReturnType<OnDurations> {
    const sum = { accepted: 0, rejected: 0, reasons: {} as Partial<Record<string, number>> };
    const byOwner = Map.groupBy(
      points,
      ({ resource }) => this.#claims.of(resource.namespace, resource.service).owner ?? "",
    );
    for (const [owner, own] of byOwner) {
      const taken = this.#running.get(owner)?.takeDurations(own) ?? this.#unowned(owner, own.length);
      sum.accepted += taken.accepted;
      sum.rejected += taken.rejected;
      for (const [reason, count] of Object.entries(taken.reasons))
        sum.reasons[reason] = (sum.reasons[reason] ?? 0) + (count ?? 0);
    }
    return sum;
  }

  /** What is planned elsewhere is taken there. */
  #unowned(owner: string, count: number): ReturnType<OnDurations> {
    if (this.#elsewhere.has(owner)) return { accepted: count, rejected: 0, reasons: {} };
    return { accepted: 0, rejected: count, reasons: { "no-application": count } };
  }

  drops(): Readonly<Partial<Record<ArrivalDrop, number>>> {
    return this.#dispatch.drops;
  }

  windowClosed(): void {
    this.#seeNames();
    this.#dispatch.forget();
    // Predictors may have come or gone.
    if (this.#parts.plannersPerApplication !== undefined) this.#changes.add(async () => this.#follow());
  }

  remembered(): string | undefined {
    const states = this.planned().flatMap((each) => each.remembered() ?? []);
    return states.length === 0
      ? undefined
      : `[${[...states, JSON.stringify(this.#holders.state())].join(",")}]`;
  }

  async begin(peers: OtherPredictors | undefined): Promise<void> {
    this.#peers = peers;
    const kept = await this.#kept.read();
    if (kept !== undefined) this.#holders.adopt(kept, this.#time.nowMs());
    if (this.#parts.plannersPerApplication !== undefined) await peers?.met();
    await this.#followed.start();
    await this.#changes.settled();
    this.#cleaner = setInterval(() => this.#changes.add(async () => this.#clean()), CLEAN_MS);
    this.#cleaner.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#cleaner);
    await this.#followed.stop();
    await this.#changes.settled();
    const all = this.planned();
    this.#running.clear();
    await Promise.all(all.map(async (each) => each.stop()));
  }

  #changed(): void {
    const applications = this.#followed.planned();
    this.#claims = this.#claimsOf(applications);
    this.#dispatch.forget();
    this.#changes.add(async () => this.#follow());
  }

  #claimsOf(applications: readonly Application[]): Claims {
    return new Claims(applications, {
      runs: (namespace, service) => this.#runningIn(namespace).has(service),
      holder: (namespace, service) => this.#holders.of(namespace, service),
    });
  }

  /** Notes who has which name, once it is known what there is. */
  #seeNames(): void {
    if (this.whyNot() !== undefined || this.#workloads() === undefined) return;
    const names = [...this.#claims.names((namespace) => this.#runningIn(namespace))];
    const nowMs = this.#time.nowMs();
    if (this.#holders.see(names, nowMs) || nowMs - this.#keptMs >= CLEAN_MS) {
      this.#keptMs = nowMs;
      this.#changes.add(async () => this.#kept.write(this.#holders.state()));
    }
    const before = this.#shared;
    this.#shared = sharedNames(
      names.flatMap(({ claimants, namespace, service }) =>
        claimants.length > 1 ? [{ service, claimants, claim: this.#claims.of(namespace, service) }] : [],
      ),
    );
    for (const [key, shared] of this.#shared) {
      const said = new Set(before.get(key)?.map(nameText));
      const services = shared.filter((each) => each.outcome !== "keeps" && !said.has(nameText(each)));
      if (services.length > 0)
        this.#parts.shared.log.warn(
          { application: key, services },
          "other applications have these names too",
        );
    }
  }

  /** What an application does not get of its spans, in words. */
  #missing(key: string): readonly string[] {
    return (this.#shared.get(key) ?? [])
      .filter(({ outcome }) => outcome !== "keeps")
      .slice(0, MOST_NAMES)
      .map(missingOf);
  }

  /** Begins with those that came, and ends those that are gone. */
  async #follow(): Promise<void> {
    const known = new Map(this.#followed.planned().map((each) => [applicationKey(each), each]));
    const wanted = new Map([...known].filter(([key]) => this.#isPlannedHere(key)));
    this.#elsewhere = new Set([...known.keys()].filter((key) => !wanted.has(key)));
    for (const [key, running] of this.#running) {
      if (wanted.has(key)) this.#leaving.delete(key);
      else if (!known.has(key) || this.#hasHandedOver(key)) await this.#end(key, running);
    }
    for (const key of this.#failed.keys()) if (!wanted.has(key)) this.#failed.delete(key);
    let asked: Promise<readonly string[]> | undefined;
    // One answer holds what a peer remembers of all applications.
    const askPeers = async (): Promise<readonly string[]> => (asked ??= this.#askPeers());
    for (const [key, application] of wanted) {
      if (this.#running.has(key)) continue;
      try {
        await this.#open(key, application, askPeers);
        this.#failed.delete(key);
      } catch (error) {
        const problem = describeError(error);
        this.#failed.set(key, `it cannot be planned: ${problem}`);
        this.#parts.shared.log.error({ application: key, problem }, "an application cannot be planned");
      }
    }
  }

  async #askPeers(): Promise<readonly string[]> {
    const texts = (await this.#peers?.askStates()) ?? [];
    for (const text of texts) {
      try {
        for (const value of statesIn(text)) {
          const names = readNameHolders(value);
          if (names !== undefined) this.#holders.adopt(names, this.#time.nowMs());
        }
      } catch {
        // It is said where the state of each application is looked for in it.
      }
    }
    return texts;
  }

  #isPlannedHere(key: string): boolean {
    const { plannersPerApplication: count } = this.#parts;
    if (count === undefined || this.#peers === undefined) return true;
    return isPlanner(key, this.#peers.instance, this.#peers.answering(), count);
  }

  #hasHandedOver(key: string): boolean {
    const nowMs = this.#parts.shared.clock.monotonicMs();
    const sinceMs = this.#leaving.get(key) ?? nowMs;
    this.#leaving.set(key, sinceMs);
    return nowMs - sinceMs >= HANDOVER_MS;
  }

  async #end(key: string, running: PlannedApplication): Promise<void> {
    this.#running.delete(key);
    this.#leaving.delete(key);
    const { log } = this.#parts.shared;
    log.info({ application: key }, "plans this application no more");
    await running.stop().catch((error: unknown) => {
      log.error({ application: key, problem: describeError(error) }, "it did not end well");
    });
  }

  async #open(
    key: string,
    application: Application,
    askPeers: () => Promise<readonly string[]>,
  ): Promise<void> {
    const { shared } = this.#parts;
    const { state } = shared.options;
    if (state !== undefined) await adoptState(state, application, shared.log);
    const opened = await PlannedApplication.open(shared, {
      application,
      current: () => this.#followed.find(key),
      workloads: () => this.#workloadsOf(key, application),
      onNodes: () => this.#workloads(),
      directory: state && stateDirectory(state, application),
      sharers: () => this.#sharersOf(application),
      missing: () => this.#missing(key),
    });
    await opened.begin(askPeers);
    this.#running.set(key, opened);
    const { name, namespace } = application;
    shared.log.info({ name, namespace }, "plans this application");
  }

  /** Namespaces have equal parts, and so have the applications of each. */
  #sharersOf({ namespace }: Application): number {
    const namespaces = [...this.#running.values()].map(({ application }) => application.namespace);
    const here = namespaces.filter((each) => each === namespace).length;
    return new Set([...namespaces, namespace]).size * Math.max(1, here);
  }

  /** Tenancy is by namespace: nothing that runs elsewhere is any of its business. */
  #workloadsOf(key: string, { namespace }: Application): WorkloadList | undefined {
    const list = this.#workloads();
    return (
      list && {
        ...list,
        workloads: list.workloads.filter(
          (each) => each.namespace === namespace && this.#claims.of(namespace, each.service).owner === key,
        ),
        ...(list.quotas && { quotas: list.quotas.filter((quota) => quota.namespace === namespace) }),
      }
    );
  }

  #runningIn(namespace: string): ReadonlySet<string> {
    return this.#known().running.get(namespace) ?? NO_SERVICES;
  }

  #workloads(): WorkloadList | undefined {
    return this.#known().list;
  }

  #known(): KnownWorkloads {
    const nowMs = this.#parts.shared.clock.monotonicMs();
    if (this.#list === undefined || nowMs - this.#list.atMs > LIST_MS) {
      const list = this.#parts.workloads();
      const running = new Map<string, Set<string>>();
      for (const { namespace, service } of list?.workloads ?? [])
        running.set(namespace, (running.get(namespace) ?? new Set()).add(service));
      this.#list = { atMs: nowMs, list, running };
    }
    return this.#list;
  }

  /** Says which services of a namespace nobody plans because several applications are in it and none names them. */
  #unnamed({ namespace }: Application): string | undefined {
    const found = (this.#workloads()?.workloads ?? []).flatMap((each) => {
      const claim = each.namespace === namespace ? this.#claims.of(namespace, each.service) : undefined;
      return claim !== undefined && claim.owner === undefined && claim.several.length === 0
        ? [each.service]
        : [];
    });
    if (found.length === 0) return undefined;
    const names = [...new Set(found)].slice(0, MOST_NAMES).join(", ");
    return `nobody plans ${names} in namespace '${namespace}', which has several applications: name each in the services of one`;
  }

  async #clean(): Promise<void> {
    const { log, options, sections } = this.#parts.shared;
    if (options.state === undefined || this.whyNot() !== undefined) return;
    const olderThanMs = sections.store.hourDays * DAY_MS;
    await removeOldStates(options.state, new Set(this.#running.keys()), {
      log,
      nowMs: this.#time.nowMs(),
      olderThanMs,
    });
  }
}

/** What runs, as it was looked up last. */
interface KnownWorkloads {
  /** Monotonic. */
  readonly atMs: number;
  readonly list: WorkloadList | undefined;
  /** Services by namespace. */
  readonly running: ReadonlyMap<string, ReadonlySet<string>>;
}

const NO_SERVICES: ReadonlySet<string> = new Set();

/** Of each application the names that others have too. @param contested names with more than one claimant */
function sharedNames(
  contested: readonly {
    readonly service: string;
    readonly claimants: readonly string[];
    readonly claim: Claim;
  }[],
): ReadonlyMap<string, readonly SharedName[]> {
  const found = new Map<string, SharedName[]>();
  for (const { claim, claimants, service } of contested) {
    // Of several in one namespace none names it, and none has had it: each says so as its problem.
    if (claim.owner === undefined && claim.several.length === 0) continue;
    for (const key of claimants) {
      const lost = claim.owner === undefined ? "shared" : "yields";
      const outcome = claim.owner === key ? "keeps" : lost;
      const known = found.get(key) ?? [];
      const isListed = known.some((each) => each.service === service);
      if (!isListed && known.length < MOST_SHARED_NAMES) found.set(key, [...known, { service, outcome }]);
    }
  }
  return found;
}

const nameText = ({ outcome, service }: SharedName): string => `${outcome} ${service}`;

const missingOf = ({ outcome, service }: SharedName): string =>
  outcome === "yields"
    ? `spans of '${service}' that state no namespace go to an application that had the name first`
    : `spans of '${service}' that state no namespace may be of another application`;

/** Counts nothing: the spans are of an application that other predictors plan, and they have them too. */
function leaveToOthers({ adjustedCount, invalidIds, length }: SpanBatch): AddResult {
  adjustedCount.fill(0, 0, length);
  return {
    accepted: length,
    rejected: invalidIds,
    reasons: invalidIds > 0 ? { "invalid-id": invalidIds } : {},
  };
}

function listed(
  { application, published }: PlannedApplication,
  origin: string,
): Omit<ListedApplication, "state"> {
  const planAgeSeconds = published.ageSeconds();
  const { name, namespace } = application;
  return { namespace, name, origin, ...(planAgeSeconds !== undefined && { planAgeSeconds }) };
}
