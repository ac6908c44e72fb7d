import type { Application } from "@tradewind/core/contract/application.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { readWith } from "@tradewind/core/values/config.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { PredictorMetrics } from "../process/metrics.ts";
import { shiftState } from "../../decide/shift-state.ts";
import { emptyState, PolicyState } from "../../decide/state.ts";
import { emptyIncidents } from "../../answers/reason/incident-log.ts";
import type { IncidentState } from "../../answers/reason/incident-log.ts";
import { emptyShadow } from "../../answers/shadow/state.ts";
import type { ShadowState } from "../../answers/shadow/state.ts";
import { readNameHolders } from "../../window/name-holders.ts";
import { INCIDENT_STATE, POLICY_STATE, SHADOW_STATE, StateFile } from "./state-file.ts";
import type { StateKind } from "./state-file.ts";

/** What is dated further ahead than this was written by another clock. */
const CLOCKS_DIFFER_MS = 10_000;

/** What the policies remember. */
export interface Memory {
  /** From before the start; undefined where there is none. */
  readonly restored: PolicyState | undefined;
  readonly keep: (state: PolicyState) => void;
  /** As JSON, for peers; undefined before the first decision. */
  readonly text: () => string | undefined;
}

export interface MemoryParts {
  readonly application: Pick<Application, "name" | "namespace">;
  /** Where to keep it; absent: nowhere. */
  readonly directory: string | undefined;
  readonly metrics: Pick<PredictorMetrics, "stateFailed">;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called in reverse order to stop what has been started. */
  readonly ends: (() => Promise<void> | void)[];
}

/** Reads back what is on disk, and keeps there what is decided from now on. */
export async function openMemory(parts: MemoryParts): Promise<Memory> {
  const { application, clock, directory, ends, log, metrics } = parts;
  const file =
    directory === undefined
      ? undefined
      : new StateFile(directory, POLICY_STATE, log, () => metrics.stateFailed());
  ends.push(async () => file?.flush());
  const read = await file?.read(application.name, application.namespace, clock.nowMs());
  const restored = read && upToNow(read, clock.nowMs());
  let latest = restored;
  return {
    restored,
    keep: (state) => {
      latest = state;
      file?.write(state);
    },
    text: () => latest && JSON.stringify(latest),
  };
}

/** A state of the future was written before the clock was set back: it counts as one of now. */
function upToNow(state: PolicyState, nowMs: number): PolicyState {
  const aheadMs = (state.windowEndMs ?? nowMs) - nowMs;
  return aheadMs > CLOCKS_DIFFER_MS ? shiftState(state, -aheadMs) : state;
}

/** A state as it was kept, and what keeps it. */
export interface KeptState<State> {
  readonly restored: State;
  readonly keep: (state: State) => void;
}

/** The same for what was missed, and how it ended. */
export const openIncidents = async (parts: MemoryParts): Promise<KeptState<IncidentState>> =>
  openState(parts, INCIDENT_STATE, emptyIncidents);

/** The same for what the HPA before would have come to. */
export const openShadow = async (parts: MemoryParts): Promise<KeptState<ShadowState>> =>
  openState(parts, SHADOW_STATE, emptyShadow);

async function openState<State extends { readonly application: string; readonly namespace: string }>(
  { application, clock, directory, ends, log, metrics }: MemoryParts,
  kind: StateKind<State>,
  emptyOf: (name: string, namespace: string) => State,
): Promise<KeptState<State>> {
  const { name, namespace } = application;
  const file =
    directory === undefined ? undefined : new StateFile(directory, kind, log, () => metrics.stateFailed());
  ends.push(async () => file?.flush());
  const restored = await file?.read(name, namespace, clock.nowMs());
  return { restored: restored ?? emptyOf(name, namespace), keep: (state) => file?.write(state) };
}

/** The state of one application alone, or a list of those of several, behind which stands who had which name first. */
export function statesIn(text: string): readonly unknown[] {
  const value: unknown = JSON.parse(text);
  return Array.isArray(value) ? value : [value];
}

/**
 * What a predictor without a state of its own begins with: of those of its peers the newest that is of the same application, so
 * that a pod is replaced and what was learnt is not lost; else nothing.
 * @param texts as {@link Memory.text} of the peers gives them
 */
export function firstState(
  { application, clock, log }: Pick<MemoryParts, "application" | "clock" | "log">,
  texts: readonly string[],
): PolicyState {
  let newest: PolicyState | undefined;
  for (const text of texts) {
    try {
      for (const value of statesIn(text)) {
        if (readNameHolders(value) !== undefined) continue;
        const state = readWith(PolicyState, value, "the state of a peer");
        const { namespace, windowEndMs = -Infinity } = state;
        const isOurs = state.application === application.name && namespace === application.namespace;
        if (!isOurs || windowEndMs > clock.nowMs() + CLOCKS_DIFFER_MS) continue;
        if (windowEndMs > (newest?.windowEndMs ?? -Infinity)) newest = state;
      }
    } catch (error) {
      log.warn({ problem: describeError(error) }, "the state of a peer cannot be used");
    }
  }
  if (newest === undefined) return emptyState(application.name, application.namespace);
  log.info({ services: newest.services.length }, "begins with what a peer remembers");
  return newest;
}
