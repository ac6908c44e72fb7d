import { MOST_ASKED_CHANGES } from "@tradewind/core/contract/plan.ts";
import type { AskedChange } from "@tradewind/core/contract/plan.ts";
import type { CheckedCounterfactual } from "@tradewind/core/contract/explanation.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import type { WhatIf } from "../../decide/cost/price/what-if.ts";
import { checkedOf } from "../../answers/reason/counterfactuals.ts";

/** Plans name a change for so long; a scaler that has taken it keeps it itself. ms */
const NAMED_MS = 300_000;
const ID_CHARACTERS = 10;
/** The same change that is asked for again within this time is the same one. ms */
const SAME_MS = 900_000;

/** Who asks, and when. */
export interface Asking {
  readonly by: string;
  readonly isOfModel: boolean;
  readonly nowMs: number;
  readonly notBeforeMs?: number | undefined;
}

/** Growth that somebody asks for beside the plan and that the models of now expect to help. Plans carry it to the scaler, where it waits. */
export class AskedChanges {
  #all: readonly { readonly change: AskedChange; readonly untilMs: number }[] = [];

  /**
   * Takes the first change of each service that still holds: an answer may be of minutes ago.
   * @param models of the last decision; absent where none decided
   * @returns what was taken
   */
  take(
    supposed: readonly Pick<CheckedCounterfactual, "resource" | "service" | "to">[],
    objectiveSeconds: number,
    models: Pick<WhatIf, "sized"> | undefined,
    asking: Asking,
  ): AskedChange[] {
    const taken = new Map<string, AskedChange>();
    for (const { resource, service, to } of supposed) {
      if (resource === "own-time" || taken.has(service)) continue;
      const effect = models?.sized(service, resource, to);
      if (effect === undefined || effect.to <= effect.from) continue;
      const { from, outcome, tailAfterSeconds, tailBeforeSeconds } = checkedOf(
        service,
        resource,
        effect,
        objectiveSeconds,
      );
      if (outcome !== "better") continue;
      const { by, isOfModel, notBeforeMs, nowMs } = asking;
      const id = contentHash([service, resource, from, to, by, Math.floor(nowMs / SAME_MS)]);
      taken.set(service, {
        id: id.slice(0, ID_CHARACTERS),
        service,
        resource,
        from,
        to,
        asked: { by, tailBeforeSeconds, tailAfterSeconds },
        isOfModel,
        ...(notBeforeMs !== undefined && { notBeforeMs }),
      });
    }
    const fresh = [...taken.values()];
    const ids = new Set(fresh.map(({ id }) => id));
    const untilMs = asking.nowMs + NAMED_MS;
    const others = this.#all.filter(({ change }) => !ids.has(change.id));
    this.#all = [...others, ...fresh.map((change) => ({ change, untilMs }))].slice(-MOST_ASKED_CHANGES);
    return fresh;
  }

  /** Those that plans of now name. */
  named(nowMs: number): AskedChange[] {
    this.#all = this.#all.filter(({ untilMs }) => untilMs > nowMs);
    return this.#all.map(({ change }) => change);
  }
}
