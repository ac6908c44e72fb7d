import { applicationKey, askForOne } from "@tradewind/core/contract/application-list.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import type { ApplicationState } from "@tradewind/core/contract/application-list.ts";
import type { RegretReport } from "@tradewind/core/contract/recommendation.ts";
import type { KnownApplication, KnownApplications } from "./application-poll.ts";
import type { Question, Reply } from "./plan-client.ts";
import type { PlanSource, PlanSourceStatus } from "./plan-source.ts";

/** Of one application: where its plans come from, and how they do. */
export interface ApplicationStatus extends PlanSourceStatus {
  /** Absent while the predictors plan one application only. */
  readonly application?: KnownApplication;
  /** The only application was deleted: nobody plans it, and its decisions run out. */
  readonly isDeleted?: boolean;
  /** What recommendations that were not carried out would have changed. */
  readonly regret?: RegretReport | undefined;
}

export interface PlanSourcesOptions {
  /** Makes what asks for the plans of this application, or of the only one of the predictors. */
  readonly open: (application: KnownApplication | undefined) => PlanSource;
  /** Called with each application that was deleted, and each lapsed one that the predictors know no longer. */
  readonly onGone: (application: Place) => Promise<void>;
  /** Applications besides these that nothing valid is known of any more. */
  readonly lapsed: (planned: readonly Place[]) => readonly Place[];
}

type Place = Pick<KnownApplication, "namespace" | "name">;

/** The plans of one application, or of several that come and go. */
export class PlanSources {
  readonly #options: PlanSourcesOptions;
  #only: PlanSource | undefined;
  #several: KnownApplications;
  /** How predictors said last that the only application stands. */
  #onlyState: ApplicationState | undefined;
  readonly #sources = new Map<string, PlanSource>();
  #hasAnswer = false;

  constructor(options: PlanSourcesOptions) {
    this.#options = options;
    this.#only = options.open(undefined);
  }

  /** @returns what resolves after the first poll, whatever it came to */
  async start(): Promise<void> {
    await this.#only?.start();
  }

  /** Those that the predictors plan, planned or not; undefined while it is one only. */
  get several(): KnownApplications {
    return this.#several;
  }

  /** Whether a predictor answered the last time they were asked which applications there are. */
  get hasAnswer(): boolean {
    return this.#hasAnswer;
  }

  /** One for each application that is planned or cannot be; those that were deleted are left out. */
  statuses(): readonly ApplicationStatus[] {
    if (this.#several === undefined) {
      const isDeleted = this.#onlyState === "deleted";
      return this.#only === undefined ? [] : [{ ...this.#only.status, ...(isDeleted && { isDeleted }) }];
    }
    return this.#several
      .filter(({ state }) => state !== "deleted")
      .map((application) => {
        const status = this.#sources.get(applicationKey(application))?.status ?? {
          reachable: this.#hasAnswer,
        };
        const { problem = application.problem } = status;
        return Object.assign({}, status, { application }, problem === undefined ? {} : { problem });
      });
  }

  /**
   * Goes on with these applications: asks for the plans of those that came, and no more for those that are gone.
   * @param only how the only application stands; undefined while no predictor says, and then what was said last counts
   * @param onKnown called once the list counts, before anything of those that are gone is forgotten
   */
  async follow(
    applications: KnownApplications,
    hasAnswer: boolean,
    only?: ApplicationState,
    onKnown?: () => void,
  ): Promise<void> {
    this.#hasAnswer = hasAnswer;
    this.#onlyState = only ?? this.#onlyState;
    // Predictors that were restarted know of none for a moment: what was several stays several.
    if (applications === undefined) return;
    const before = this.#several ?? [];
    this.#several = applications;
    onKnown?.();
    const single = this.#only;
    this.#only = undefined;
    await single?.stop();
    const planned = new Map(
      applications.filter(({ state }) => state === "planned").map((each) => [applicationKey(each), each]),
    );
    for (const [key, source] of this.#sources) {
      if (planned.has(key)) continue;
      this.#sources.delete(key);
      await source.stop();
    }
    for (const each of applications) {
      const was = before.find((other) => applicationKey(other) === applicationKey(each));
      if (each.state === "deleted" && was?.state !== "deleted") await this.#options.onGone(each);
    }
    for (const each of this.#options.lapsed(applications)) await this.#options.onGone(each);
    const firstPolls: Promise<void>[] = [];
    for (const [key, application] of planned) {
      if (this.#sources.has(key)) continue;
      const source = this.#options.open(application);
      this.#sources.set(key, source);
      firstPolls.push(source.start());
    }
    await Promise.all(firstPolls);
  }

  /**
   * Asks the predictor of one application.
   * @param place as far as the asker names it
   * @throws TradewindError `no-such-application`, `several-applications`, and as {@link PlanSource.ask}
   */
  async ask(place: Partial<Place>, question: Question): Promise<Reply> {
    if (this.#only !== undefined) {
      const { plan } = this.#only.status;
      if ((place.namespace ?? plan?.namespace) === plan?.namespace) return this.#only.ask(question);
      throw new TradewindError(
        "no-such-application",
        `no application in the namespace '${place.namespace}' is planned`,
      );
    }
    const planned = (this.#several ?? []).filter(
      (each) =>
        this.#sources.has(applicationKey(each)) &&
        each.name === (place.name ?? each.name) &&
        each.namespace === (place.namespace ?? each.namespace),
    );
    const [one, ...others] = planned;
    const source = one && this.#sources.get(applicationKey(one));
    if (source !== undefined && others.length === 0) return source.ask(question);
    const problem = askForOne([...this.#sources.keys()]);
    throw new TradewindError(source === undefined ? "no-such-application" : "several-applications", problem);
  }

  async stop(): Promise<void> {
    const all = [...(this.#only === undefined ? [] : [this.#only]), ...this.#sources.values()];
    await Promise.all(all.map(async (source) => source.stop()));
  }
}
