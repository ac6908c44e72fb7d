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
   * @param by field manager that wrote it last, where it is known
   */
  look(application: Application, by: string | undefined, nowMs: number): SettingEvent[] {
    const { entries, mode, name, namespace, services } = application;
    const key = applicationKey({ name, namespace });
    const lastSettings = this.#last.get(key);
    if (lastSettings?.application === application) return [];
    const bounds = new Map(
      services.map((each) => [each.name, `${each.minReplicas} to ${each.maxReplicas}`] as const),
    );
    this.#last.set(key, { application, mode, bounds });
    if (lastSettings === undefined) return [];
    const event = (
      service: string,
      setting: SettingEvent["setting"],
      from: string,
      to: string,
    ): SettingEvent => ({
      kind: "setting",
      application: name,
      namespace,
      service,
      atMs: nowMs,
      setting,
      from,
      to,
      ...(by !== undefined && { by }),
    });
    const [entry = name] = entries;
    const moved = [...new Set([...lastSettings.bounds.keys(), ...bounds.keys()])].filter(
      (service) => lastSettings.bounds.get(service) !== bounds.get(service),
    );
    return [
      ...(lastSettings.mode === mode ? [] : [event(entry, "mode", lastSettings.mode, mode)]),
      ...moved.map((service) =>
        event(
          service,
          "bounds",
          lastSettings.bounds.get(service) ?? "default",
          bounds.get(service) ?? "default",
        ),
      ),
    ];
  }
}
