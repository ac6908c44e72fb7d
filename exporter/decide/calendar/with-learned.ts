import type { Application } from "@tradewind/core/contract/application.ts";
import type { Calendar } from "@tradewind/core/contract/calendar.ts";

type Find = (namespace: string, name: string) => Application | undefined;

/** Finds applications with the calendars that were learned and approved beside their own. The same object for as long as neither changes. */
export function withLearned(
  find: Find,
  learned: (namespace: string, name: string) => readonly Calendar[],
): Find {
  const extended = new WeakMap<Application, { readonly text: string; readonly whole: Application }>();
  return (namespace, name) => {
    const configuration = find(namespace, name);
    const more = configuration === undefined ? [] : learned(namespace, name);
    if (configuration === undefined || more.length === 0) return configuration;
    const text = JSON.stringify(more);
    const last = extended.get(configuration);
    if (last?.text === text) return last.whole;
    const whole = { ...configuration, calendars: [...configuration.calendars, ...more] };
    extended.set(configuration, { text, whole });
    return whole;
  };
}
