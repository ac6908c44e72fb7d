import { setImmediate as nextTurn } from "node:timers/promises";
import type { Wish } from "@tradewind/core/contract/plan.ts";
import {
  studentParameters,
  Students,
  STUDENTS_SCHEMA,
  studentText,
} from "@tradewind/core/contract/students.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { readJsonWith } from "@tradewind/core/values/config.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { haveUsersChanged } from "@tradewind/core/students/notifier.ts";
import type { Pair } from "@tradewind/core/students/train-student.ts";
import type { WindowStore } from "../../store/window-store.ts";
import type { StudentJob, StudentOutcome } from "./learn-student.ts";
import { Learner } from "./learner.ts";
import type { TeachingCause } from "./learner.ts";
import { RouteShares } from "./route-shares.ts";
import { SHIPPED_HASH, shippedText } from "./shipped.ts";
import { SHIPPED_STUDENTS } from "./shipped-students.ts";
import { seenWindow } from "./silent-view.ts";

/** Teaches students, somewhere else than on this thread where that matters. */
export interface StudentTrainer {
  trainStudent(job: StudentJob): Promise<StudentOutcome>;
}

/** How students are learnt, as metrics have it. */
export interface StudentMetrics {
  students(namespace: string, agreement: ReadonlyMap<string, number>): void;
  studentTaught(cause: TeachingCause): void;
}

export interface LiveStudentsOptions {
  readonly namespace: string;
  readonly name: string;
  readonly trainer: StudentTrainer;
  readonly store: Pick<WindowStore, "model" | "saveModel">;
  readonly metrics: StudentMetrics;
  readonly log: Logger;
  /** Hears every lesson before anybody learns from it. */
  readonly onLesson?: (service: string, lesson: Pair) => void;
}

/** Services with lessons: 80 kB each. Those beyond keep the shipped student. */
const MOST_LEARNERS = 250;
/** A service that no plan names for so long is forgotten. ms */
const FORGET_MS = 3_600_000;
/** Files that scalers may still ask for: that of the plan before, and the one before. */
const TEXTS_KEPT = 3;

/**
 * The students of one application, one for each service, that go on learning from the decisions of their own deployment: each plan is
 * a lesson on what a scaler could have seen of the window had the predictor been silent for a while. Never throws.
 */
export class LiveStudents {
  readonly #options: LiveStudentsOptions;
  readonly #shipped = studentParameters(SHIPPED_STUDENTS.general);
  readonly #learners = new Map<string, Learner>();
  readonly #routes = new RouteShares();
  readonly #texts = new Map<string, string>();
  #hash = SHIPPED_HASH;
  #teaching: Promise<void> | undefined;
  #stopped = false;

  constructor(options: LiveStudentsOptions) {
    this.#options = options;
    this.#restore();
  }

  /** What plans name. */
  get hash(): string {
    return this.#hash;
  }

  /** Their file; undefined for what is not kept (any more). */
  text(hash: string): string | undefined {
    return shippedText(hash) ?? this.#texts.get(hash);
  }

  /** Of one service: its own, else the shipped one. */
  parameters(service: string): Float64Array {
    return this.#learners.get(service)?.own ?? this.#shipped;
  }

  /** Takes in what was decided on a window, and begins the teaching that is due. */
  observe(wishes: readonly Wish[], windowSet: WindowSet): void {
    try {
      this.#learnFrom(wishes, windowSet);
    } catch (error) {
      this.#options.log.error({ problem: describeError(error) }, "students learnt nothing from this window");
    }
    this.#teaching ??= this.#teachDue()
      .catch((error: unknown) => {
        this.#options.log.error({ problem: describeError(error) }, "students could not be taught");
      })
      .finally(() => {
        this.#teaching = undefined;
      });
  }

  /** Resolves when no teaching is under way. */
  async settled(): Promise<void> {
    await this.#teaching;
  }

  /** What is under way is dropped. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#teaching;
  }

  #learnFrom(wishes: readonly Wish[], { endMs, flows, startMs, windows }: WindowSet): void {
    const { log, metrics, namespace } = this.#options;
    this.#routes.add(flows, { startMs, endMs });
    if (haveUsersChanged(this.#routes.taught(), this.#routes.recent())) {
      log.info(
        { cause: "users" },
        "users do other things than students were taught by; they are taught again",
      );
      metrics.studentTaught("users");
      for (const learner of this.#learners.values()) learner.forget();
      this.#routes.taughtNow();
      this.#put();
    }
    const byService = new Map(windows.map((window) => [window.service, window]));
    for (const wish of wishes) {
      const window = byService.get(wish.service);
      const seen = window && seenWindow(window, wish);
      const learner = seen && this.#learnerOf(wish.service);
      if (seen === undefined || learner === undefined) continue;
      for (const lesson of learner.observe(seen, wish.bounds)) this.#options.onLesson?.(wish.service, lesson);
      learner.lastSeenMs = endMs;
    }
    const agreement = new Map<string, number>();
    for (const [service, learner] of this.#learners) {
      if (learner.agreement !== undefined) agreement.set(service, learner.agreement);
      learner.lastSeenMs ??= endMs;
      if (endMs - learner.lastSeenMs > FORGET_MS) this.#learners.delete(service);
    }
    metrics.students(namespace, agreement);
  }

  #learnerOf(service: string): Learner | undefined {
    const known = this.#learners.get(service);
    if (known !== undefined || this.#learners.size >= MOST_LEARNERS) return known;
    const made = new Learner(this.#shipped);
    this.#learners.set(service, made);
    return made;
  }

  /** One service after the other; the plan does not wait for it. */
  async #teachDue(): Promise<void> {
    for (const [service, learner] of this.#learners) {
      await nextTurn();
      const cause = this.#stopped ? undefined : learner.cause();
      if (cause !== undefined) await this.#teach(service, learner, cause);
    }
  }

  async #teach(service: string, learner: Learner, cause: TeachingCause): Promise<void> {
    const { log, metrics, name, namespace, trainer } = this.#options;
    const { own } = learner;
    const job: StudentJob = {
      service,
      lessons: learner.lessons(),
      shipped: this.#shipped,
      ...(own && { own }),
      seed: Number.parseInt(contentHash([namespace, name, service, learner.trainings]).slice(0, 7), 16),
    };
    if (cause === "first") this.#routes.taughtNow();
    metrics.studentTaught(cause);
    const outcome = await trainer.trainStudent(job);
    if (this.#stopped || learner.own !== own) return;
    if (outcome.kind === "failed") {
      log.debug({ service, problem: outcome.why }, "a student could not be taught, the old one goes on");
      return;
    }
    const { agreement, agreementWhenActing } = outcome.heldBack;
    log.info(
      { service, cause, isNew: outcome.isNew, agreement, agreementWhenActing },
      outcome.isNew ? "a student was taught and taken into use" : "a student was taught and is no better",
    );
    if (!outcome.isNew && (outcome.own === undefined) === (own === undefined)) return;
    learner.take(outcome.own);
    this.#put();
  }

  /** Puts the students in use under a name of their own, and on disk. */
  #put(): void {
    const { log, name, namespace, store } = this.#options;
    const own = [...this.#learners].flatMap(([service, learner]): [string, string][] =>
      learner.own === undefined ? [] : [[service, studentText(learner.own)]],
    );
    if (own.length === 0) {
      this.#hash = SHIPPED_HASH;
      return;
    }
    const students: Students = {
      schema: STUDENTS_SCHEMA,
      about: `the students of this release, ${own.length} of them continued from the decisions of ${namespace}/${name}`,
      general: SHIPPED_STUDENTS.general,
      services: Object.fromEntries(own),
    };
    const [hash, text] = [contentHash(students), JSON.stringify(students)];
    this.#keep(hash, text);
    const createdAtMs = Math.max(0, ...[...this.#learners.values()].map(({ lastSeenMs }) => lastSeenMs ?? 0));
    const metadata = { services: own.length };
    store.saveModel({ name: this.#modelName, hash, createdAtMs, body: Buffer.from(text, "utf8"), metadata });
    log.debug({ hash, services: own.length }, "students are published");
  }

  #keep(hash: string, text: string): void {
    this.#hash = hash;
    this.#texts.delete(hash);
    this.#texts.set(hash, text);
    for (const oldest of this.#texts.keys()) {
      if (this.#texts.size <= TEXTS_KEPT) break;
      this.#texts.delete(oldest);
    }
  }

  get #modelName(): string {
    return `students/${this.#options.namespace}/${this.#options.name}`;
  }

  /** What was learnt before a restart goes on; the lessons are gathered anew. */
  #restore(): void {
    const { log, store } = this.#options;
    try {
      const stored = store.model(this.#modelName);
      if (stored === undefined) return;
      const text = Buffer.from(stored.body).toString("utf8");
      const students = readJsonWith(Students, text, this.#modelName);
      if (students.general !== SHIPPED_STUDENTS.general) return;
      for (const [service, own] of Object.entries(students.services ?? {}).slice(0, MOST_LEARNERS)) {
        this.#learners.set(service, new Learner(this.#shipped, studentParameters(own)));
      }
      this.#keep(contentHash(students), text);
    } catch (error) {
      log.warn(
        { problem: describeError(error) },
        "students learnt before cannot be read; those of the release go on",
      );
    }
  }
}
