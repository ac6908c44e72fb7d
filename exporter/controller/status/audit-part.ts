import type { EventRecorder } from "@tradewind/kubernetes/write/events.ts";
import type { Head } from "../../keep/journal/chain.ts";
import { PUBLISH_EVERY_MS } from "../../keep/journal/keeper.ts";
import type { LeaderPart, Scene } from "../scene/part.ts";
import { regardingApplication, resourceOf } from "./status-part.ts";

/** Says the newest row of the audit trail on the Applications, once an hour: whoever writes into the journal does not write there. */
export class AuditPart implements LeaderPart {
  readonly name = "audit";
  readonly #recorder: EventRecorder;
  readonly #head: () => Head | undefined;
  #published: { readonly seq: number; readonly ms: number } | undefined;

  /** @param head the newest row on disk */
  constructor(recorder: EventRecorder, head: () => Head | undefined) {
    this.#recorder = recorder;
    this.#head = head;
  }

  async reconcile(scene: Scene, signal: AbortSignal): Promise<void> {
    const head = this.#head();
    const { ms = Number.NEGATIVE_INFINITY, seq } = this.#published ?? {};
    if (head === undefined || head.seq === seq || scene.monotonicMs - ms < PUBLISH_EVERY_MS) return;
    const resources = scene.applications.flatMap((each) => resourceOf(scene, each) ?? []);
    if (resources.length === 0) return;
    this.#published = { seq: head.seq, ms: scene.monotonicMs };
    const note = `row ${head.seq} of the audit trail has the hash ${head.hash}`;
    for (const resource of resources) {
      const facts = { type: "Normal", reason: "AuditHead", action: "Publish", note } as const;
      await this.#recorder.record({ ...facts, regarding: regardingApplication(resource) }, signal);
    }
  }
}
