import type { Accuracy, CauseLabel } from "@tradewind/core/contract/accuracy.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { Explanation, ModelOpinion } from "@tradewind/core/contract/explanation.ts";
import type { Pattern } from "@tradewind/core/contract/pattern.ts";
import type { PlanCause } from "@tradewind/core/contract/plan.ts";
import { TRANSCRIPT_SCHEMA } from "@tradewind/core/contract/transcript.ts";
import type { TranscriptLine } from "@tradewind/core/contract/transcript.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { WhatIf } from "../../decide/cost/price/what-if.ts";
import type { ModelConnection } from "../../answers/language-model/model.ts";
import { mappingInWords, unmappedNames } from "../../decide/facts/unmapped.ts";
import { entriesPerSecond } from "../../decide/facts/user-flows.ts";
import type { SloStanding } from "../../decide/facts/verdict.ts";
import type { PolicyOutcome } from "../../decide/inputs.ts";
import { BUILT_IN, emptyAccuracy, explanationFor } from "../../answers/reason/accuracy.ts";
import { explain } from "../../answers/reason/explain.ts";
import type { Explained, Reasoned } from "../../answers/reason/explain.ts";
import type { Incident } from "../../answers/reason/incident.ts";
import { sizesOf, withWindow } from "../../answers/reason/incident-log.ts";
import type { IncidentState, LoggedWindow } from "../../answers/reason/incident-log.ts";
import { signsOf } from "../../answers/reason/precedents.ts";
import { causeText } from "../../answers/reason/words.ts";
import type { LastMiss } from "../../answers/reason/words.ts";
import { messagesOf } from "../../answers/reason/prompt.ts";
import { SignalHistory } from "../../answers/reason/signal-history.ts";
import type { Sketch } from "../../answers/reason/sketch.ts";
import { AccuracyTracker } from "./accuracy-tracker.ts";
import type { AccuracyEvents } from "./accuracy-tracker.ts";
import { consult } from "./consulting.ts";
import type { Told } from "./consulting.ts";
import { KeptExplanations, sketchOf } from "./kept-explanations.ts";

/** Explanations that can be asked for by time. */
const MOST_KEPT = 200;
/** An explanation further away from the time that is asked for is not one of it. */
const NEAR_MS = 300_000;
/** A model is asked once in this time while an incident goes on, and at its onset. */
const ASK_EVERY_MS = 60_000;
/** Before a peak of the load it is asked once in this time. ms */
const ASK_AHEAD_MS = 900_000;
/** A load this many times that of now is a peak. */
const PEAK_RATIO = 1.5;
/** An answer that comes after so many more windows is late. */
const LATE_WINDOWS = 2;
/** Explaining takes no more than this share of the time. */
const DUTY = 0.02;
/** A plan carries no more of the sentence. */
const MOST_CHARACTERS = 500;

export interface ExplainingOptions {
  readonly monotonicMs: () => number;
  readonly log: Logger;
  /** What explanations that can be asked for may take. */
  readonly maxKeptBytes: number;
  /** What the window shows by name; absent: nobody looks. */
  readonly patterns?: () => readonly Pattern[];
  /** Past incidents, and where they are kept. */
  readonly incidents: { readonly restored: IncidentState; readonly keep: (state: IncidentState) => void };
  /** Called with every explanation of a missed objective. */
  readonly onExplained: (explanation: Explanation) => void;
  /** A language model that is asked too; absent: none. What it says changes no plan. */
  readonly model?: Pick<ModelConnection, "ask" | "model"> | undefined;
  /** What a model is told besides; absent: nothing. */
  readonly told?: () => Promise<Told>;
  /** Highest load that is forecast, requests per second; absent: none is. */
  readonly peakPerSecond?: () => number | undefined;
  /** Called with every answer of a model. */
  readonly onOpinion?: (opinion: ModelOpinion) => void;
  readonly onJudged?: AccuracyEvents["onJudged"];
  readonly onExecuted?: AccuracyEvents["onExecuted"];
}

/** What was decided on. */
export interface DecidedWindow {
  readonly application: Application;
  readonly windowSet: WindowSet;
  readonly outcome: Pick<PolicyOutcome, "plan" | "slo" | "whatIf">;
}

/** Why an application misses its objective: worked out when it begins to, and again while it goes on. */
export class Explaining {
  readonly #options: ExplainingOptions;
  readonly #signals = new SignalHistory();
  readonly #accuracy: AccuracyTracker;
  readonly #kept: KeptExplanations;
  #last:
    | {
        readonly explained: () => Explained | undefined;
        readonly models: WhatIf | undefined;
        made?: Reasoned | undefined;
      }
    | undefined;
  /** By the monotonic clock; nothing is explained again before. */
  #notBeforeMs = Number.NEGATIVE_INFINITY;
  /** The objective is missed; or nobody measures it, and a resource is clearly short. */
  #isAlarmed = false;
  #windows = 0;
  #askedMs = Number.NEGATIVE_INFINITY;
  #incidents: IncidentState;

  constructor(options: ExplainingOptions) {
    this.#options = options;
    this.#kept = new KeptExplanations(MOST_KEPT, options.maxKeptBytes);
    this.#incidents = options.incidents.restored;
    this.#accuracy = new AccuracyTracker(this.#incidents.accuracy ?? emptyAccuracy(), {
      keep: (accuracy) => this.#keep({ ...this.#incidents, accuracy }),
      onJudged: options.onJudged,
      onExecuted: options.onExecuted,
    });
  }

  /** Takes a window after its plan was published. Never throws. */
  window(decided: DecidedWindow): void {
    try {
      this.#take(decided);
    } catch (error) {
      this.#options.log.error({ problem: describeError(error) }, "no explanation for this window");
    }
  }

  /** The wall clock was set: windows of before have other times. */
  clockStepped(): void {
    this.#signals.clear();
    this.#accuracy.clear();
    this.#last = undefined;
  }

  /** Of the last window; undefined before the first. It names no cause where the objective is met. */
  latest(): Explanation | undefined {
    return this.#reasoned()?.explanation;
  }

  /** The state that the last window was in, each value against its own past; undefined before the first. */
  sketch(): Sketch | undefined {
    return this.#reasoned()?.sketch;
  }

  #reasoned(): Reasoned | undefined {
    const last = this.#last;
    if (last === undefined) return undefined;
    if (last.made === undefined) {
      const explained = last.explained();
      last.made = explained && explain(explained);
    }
    return last.made;
  }

  /** The kept explanation of a missed objective that is nearest to a time, within five minutes. */
  at(ms: number): Explanation | undefined {
    const [nearest] = this.kept().toSorted((a, b) => Math.abs(a.atMs - ms) - Math.abs(b.atMs - ms));
    return nearest !== undefined && Math.abs(nearest.atMs - ms) <= NEAR_MS ? nearest : undefined;
  }

  /** Explanations of missed objectives, and of causes that are clear where nobody measures users; oldest first. */
  kept(): readonly Explanation[] {
    return this.#kept.all.flatMap(({ explanation }) => (isAlarming(explanation) ? [explanation] : []));
  }

  /** The same with what they were made from and what the model answered, for training and for scores. */
  *transcripts(): Generator<Omit<TranscriptLine, "sketch"> & Pick<Reasoned, "sketch">> {
    for (const kept of this.#kept.all) {
      const { answer: ofModel, explanation, prompt } = kept;
      const sketch = sketchOf(kept);
      const { application, atMs, sketchHash, transcript } = explanation;
      const answers: Pick<TranscriptLine, "answer" | "messages" | "model">[] = [];
      if (explanation.isMissed) answers.push({ model: BUILT_IN, answer: transcript });
      if (ofModel !== undefined)
        answers.push({
          model: explanation.opinion?.model ?? "",
          answer: ofModel,
          ...(prompt && { messages: messagesOf(prompt) }),
        });
      for (const { answer, messages, model } of answers) {
        const judged = this.#accuracy.judgementOf(atMs, model);
        const id = sketch.services.find(({ name }) => name === judged?.service)?.id;
        const type =
          judged?.type ?? explanation.causes.find(({ service }) => service === judged?.service)?.type;
        const labels =
          judged === undefined || id === undefined || type === undefined
            ? {}
            : { labels: { root: [{ id, type }], source: judged.source } };
        const asked = messages === undefined ? {} : { messages };
        const head = { schema: TRANSCRIPT_SCHEMA, application, atMs, model } as const;
        yield { ...head, sketchHash, sketch, ...asked, answer, ...labels };
      }
    }
  }

  /** How often named causes were right. */
  accuracy(of: Pick<Accuracy, "application" | "namespace">): Accuracy {
    return this.#accuracy.accuracy(of);
  }

  /** Somebody says what the cause was. @returns the explanation that is judged by it; undefined where none is of that time */
  label(label: CauseLabel): Explanation | undefined {
    const judged = explanationFor(this.kept(), label, NEAR_MS);
    if (judged !== undefined) this.#accuracy.label(judged, label);
    return judged;
  }

  /** Times in which the objective was missed, oldest first. */
  incidents(): IncidentState["incidents"] {
    return this.#incidents.incidents;
  }

  /** The newest explanation while the objective is missed, or a cause is clear that nobody measures the effect of. */
  current(): Explanation | undefined {
    return this.#isAlarmed ? this.kept().at(-1) : undefined;
  }

  /** What plans say of it: undefined where the objective is met, or no cause is named. */
  cause(): PlanCause | undefined {
    const made = this.current();
    const [first] = made?.causes ?? [];
    if (made === undefined || first === undefined) return undefined;
    const { service, type } = first;
    const summary = made.summary.slice(0, MOST_CHARACTERS);
    return { service, type, sinceMs: made.onsetMs, summary, text: causeText(made).slice(0, MOST_CHARACTERS) };
  }

  #take(decided: DecidedWindow): void {
    const { application, outcome, windowSet } = decided;
    const severity = outcome.slo?.ratio;
    this.#signals.add(windowSet, severity, application.namespace);
    this.#windows += 1;
    this.#last = { explained: () => this.#explained(decided), models: outcome.whatIf };
    const isMissed = severity !== undefined && severity > 1;
    const isOnset = isMissed && !this.#isAlarmed;
    const made = isMissed || severity === undefined ? this.#explainNow(isOnset, outcome.whatIf) : undefined;
    if (severity !== undefined) this.#isAlarmed = isMissed;
    this.#logIncident(decided, severity, made);
    if (!isMissed) this.#askAhead(decided);
  }

  /** Undefined where it was explained a moment ago, or nothing is to be said. */
  #explainNow(isOnset: boolean, models: WhatIf | undefined): Reasoned | undefined {
    const beganMs = this.#options.monotonicMs();
    if (!isOnset && beganMs < this.#notBeforeMs) return undefined;
    const reasoned = this.#reasoned();
    const made = reasoned !== undefined && isAlarming(reasoned.explanation) ? reasoned : undefined;
    if (made !== undefined) this.#kept.add(made);
    const endedMs = this.#options.monotonicMs();
    this.#notBeforeMs = endedMs + (endedMs - beganMs) / DUTY;
    const isNew = isOnset || !this.#isAlarmed;
    this.#isAlarmed = made !== undefined;
    if (made === undefined) return undefined;
    this.#options.onExplained(made.explanation);
    if (isNew || endedMs - this.#askedMs >= ASK_EVERY_MS) {
      this.#askedMs = endedMs;
      void this.#consult(made, models);
    }
    return made;
  }

  /** A model is asked before a forecast peak, too, while all is well. */
  #askAhead({ application, outcome, windowSet }: DecidedWindow): void {
    const { model, monotonicMs, peakPerSecond } = this.#options;
    if (model === undefined || monotonicMs() - this.#askedMs < ASK_AHEAD_MS) return;
    const windows = windowSet.windows.filter(({ namespace }) => namespace === application.namespace);
    const load = entriesPerSecond(windows, application) ?? Infinity;
    if (!((peakPerSecond?.() ?? 0) >= PEAK_RATIO * load)) return;
    this.#askedMs = monotonicMs();
    void this.#askAbout(outcome.whatIf);
  }

  /** Whether a language model can be asked. */
  get hasModel(): boolean {
    return this.#options.model !== undefined;
  }

  /**
   * Asks the model about the last window, whether the objective is missed or not. Never throws.
   * @returns the explanation with what the model says, where it answered; undefined before the first window
   */
  async ask(): Promise<Explanation | undefined> {
    return this.#askAbout(this.#last?.models);
  }

  /** Keeps the explanation of the last window and asks the language model about it; without an answer it is as it was. */
  async #askAbout(models: WhatIf | undefined): Promise<Explanation | undefined> {
    const reasoned = this.#reasoned();
    if (reasoned === undefined) return undefined;
    const { explanation } = reasoned;
    if (!this.#kept.all.some((each) => each.explanation === explanation)) this.#kept.add(reasoned);
    return (await this.#consult(reasoned, models)) ?? explanation;
  }

  #logIncident(
    { application, windowSet }: DecidedWindow,
    severity: number | undefined,
    made: Reasoned | undefined,
  ): void {
    const windows = windowSet.windows.filter(({ namespace }) => namespace === application.namespace);
    const load = entriesPerSecond(windows, application);
    this.#keep(
      withWindow(this.#incidents, {
        startMs: windowSet.startMs,
        endMs: windowSet.endMs,
        severity,
        load,
        windows,
        told: made && toldOf(made),
      }),
    );
    const sized = { ratio: severity, load, sizes: sizesOf(windows), told: this.current() };
    this.#accuracy.window(sized, (atMs) => this.kept().find((each) => each.atMs === atMs));
  }

  #keep(incidents: IncidentState): void {
    if (incidents === this.#incidents) return;
    this.#incidents = incidents;
    this.#options.incidents.keep(incidents);
  }

  /** Asks about an explanation that is made. Never throws; nothing waits for it. */
  async #consult(made: Reasoned, models: WhatIf | undefined): Promise<Explanation | undefined> {
    const { log, model, monotonicMs, onOpinion, told } = this.#options;
    if (model === undefined) return undefined;
    const askedAt = this.#windows;
    const askedMs = monotonicMs();
    try {
      const consulted = await consult(model, made, models, told && (await told()));
      if (consulted === undefined) return undefined;
      const { answer, opinion: checked, prompt } = consulted;
      const isLate = this.#windows - askedAt > LATE_WINDOWS;
      const opinion = isLate ? { ...checked, lateSeconds: (monotonicMs() - askedMs) / 1e3 } : checked;
      onOpinion?.(opinion);
      const explanation = { ...made.explanation, opinion };
      this.#kept.replace(made.explanation, { explanation, answer, prompt });
      if (this.#last?.made === made) this.#last.made = { sketch: made.sketch, explanation };
      return explanation;
    } catch (error) {
      log.error({ problem: describeError(error) }, "the model's answer was not checked");
      return undefined;
    }
  }

  #explained({ application, outcome, windowSet }: DecidedWindow): Explained | undefined {
    const { plan, slo, whatIf: models } = outcome;
    const incident = this.#signals.incident(application.entry, models?.influences(slo?.route) ?? new Map());
    if (incident === undefined) return undefined;
    return {
      application: application.name,
      namespace: application.namespace,
      atMs: windowSet.endMs,
      onsetMs: incident.onsetMs,
      pastWindows: incident.pastWindows,
      objective: plan.objective,
      measuredLatencySeconds: plan.measuredLatencySeconds,
      failedRatio: slo?.failedRatio,
      patterns: this.#options.patterns?.() ?? [],
      incidents: this.#incidents.incidents,
      lastMiss: lastMissOf(this.#incidents, windowSet.endMs),
      accuracy: this.#accuracy.right,
      incident: slo === undefined ? incident : { ...incident, harm: harmOf(slo, plan) },
      models,
      unmapped: unmappedNames(windowSet.windows, application.entries).map(mappingInWords),
      whyNoModels: `policy '${plan.policy}' decided without live models: ${plan.policyReason}`,
    };
  }
}

const isAlarming = ({ causes, isMissed, measuredLatencySeconds }: Explanation): boolean =>
  isMissed || (measuredLatencySeconds === undefined && causes.length > 0);

/** A miss that is over is worth a word for so long. ms */
const LATELY_MS = 3_600_000;

/** The miss that ended last, closed or still watched. */
function lastMissOf({ incidents, open }: IncidentState, nowMs: number): LastMiss | undefined {
  const past = incidents.at(-1);
  const last = open ?? (past && { onsetMs: past.onsetMs, lastMissedMs: past.endMs });
  return last !== undefined && nowMs - last.lastMissedMs < LATELY_MS ? last : undefined;
}

/** Whether latency or failed requests are further beyond what the objective allows. */
const harmOf = (
  { failedRatio = 0 }: SloStanding,
  { measuredLatencySeconds = 0, objective: { percentile, seconds } }: PolicyOutcome["plan"],
): NonNullable<Incident["harm"]> =>
  failedRatio / (1 - percentile) > measuredLatencySeconds / seconds ? "failures" : "time";

function toldOf({ explanation, sketch }: Reasoned): NonNullable<LoggedWindow["told"]> {
  const [first] = explanation.causes;
  const patterns = new Set((explanation.patterns ?? []).map(({ kind }) => kind));
  return {
    ...(first && { cause: { service: first.service, type: first.type } }),
    patterns: [...patterns],
    signs: signsOf(sketch),
  };
}
