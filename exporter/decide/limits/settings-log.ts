import { applicationKey } from "@tradewind/core/contract/application-list.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";

type SettingEvent = Extract<AuditEvent, { kind: "setting" }>;

/** What is noted of a configuration. */
interface Settings {
  readonly application: Application;
  readonly mode: string;
  /** By service: `1 to 10`. */
  readonly bounds: ReadonlyMap<string, string>;
}

/** Notes who set another mode, or other bounds of a service, from what to what. */
export class SettingsLog {
  readonly #last = new Map<string, Settings>();

  /**
   * Compares a configuration with the one before; the first one is nothing new.
   * @param editor field manager that wrote it last, where it is known
   */
  look(application: Application, editor: string | undefined, nowMs: number): SettingEvent[] {
    const { entries, mode, name, namespace, services } = application;
    const key = applicationKey({ name, namespace });
    const lastSettings = this.#last.get(key);
    if (lastSettings?.application === application) return [];
    const bounds = new Map(
      services.map((each) => [each.name, `${each.minReplicas} to ${each.maxReplicas}`] as const),
    );
    this.#last.set(key, { application, mode, bounds });
    if (lastSettings === undefined) return [];
    const { bounds: lastBounds, mode: lastMode } = lastSettings;
    const moved = [...new Set([...lastBounds.keys(), ...bounds.keys()])].filter(
      (service) => lastBounds.get(service) !== bounds.get(service),
    );
    const changes = [
      ...(lastMode === mode
        ? []
        : [{ service: entries[0] ?? name, setting: "mode" as const, from: lastMode, to: mode }]),
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
}
