import { applicationKey, applicationRefKey } from "@tradewind/core/contract/application-list.ts";
import type { ApplicationRef } from "@tradewind/core/contract/application-list.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";

type SettingEvent = Extract<AuditEvent, { kind: "setting" }>;

/** Bounds of the replicas of each service, as `1 to 10`. */
const boundsOf = ({ services }: Application): Map<string, string> =>
  new Map(services.map((each) => [each.name, `${each.minReplicas} to ${each.maxReplicas}`]));

/** Notes who set another mode, or other bounds of a service, from what to what. */
export class SettingsLog {
  readonly #last = new Map<string, Application>();

  /**
   * Compares a configuration with the one before; the first one is nothing new.
   * @param editor field manager that wrote it last, where it is known
   */
  look(application: Application, editor: string | undefined, nowMs: number): SettingEvent[] {
    const { entries, mode, name, namespace } = application;
    const key = applicationKey({ name, namespace });
    const last = this.#last.get(key);
    if (last === application) return [];
    this.#last.set(key, application);
    if (last === undefined) return [];
    const [lastBounds, bounds] = [boundsOf(last), boundsOf(application)];
    const moved = [...new Set([...lastBounds.keys(), ...bounds.keys()])].filter(
      (service) => lastBounds.get(service) !== bounds.get(service),
    );
    const changes = [
      ...(last.mode === mode
        ? []
        : [{ service: entries[0] ?? name, setting: "mode" as const, from: last.mode, to: mode }]),
      ...moved.map((service) => ({
        service,
        setting: "bounds" as const,
        from: lastBounds.get(service) ?? "default",
        to: bounds.get(service) ?? "default",
      })),
    ];
    const common = {
      kind: "setting" as const,
      application: name,
      namespace,
      atMs: nowMs,
      ...(editor !== undefined && { by: editor }),
    };
    return changes.map((change) => Object.assign({}, common, change));
  }

  forget(place: ApplicationRef): void {
    this.#last.delete(applicationRefKey(place));
  }
}
