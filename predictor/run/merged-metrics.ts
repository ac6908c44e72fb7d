import type { Registry } from "prom-client";

/** The series of several registries as one text: those of one name stand together, as the format asks. */
export async function mergedMetrics(registries: readonly Registry[]): Promise<string> {
  const texts = new Map<string, string>();
  for (const registry of registries) {
    for (const { name } of registry.getMetricsAsArray()) {
      const text = await registry.getSingleMetricAsString(name);
      const before = texts.get(name);
      texts.set(name, before === undefined ? text : [before, ...samplesOf(text)].join("\n"));
    }
  }
  return `${[...texts.values()].join("\n\n")}\n`;
}

const samplesOf = (text: string): string[] => text.split("\n").filter((line) => !line.startsWith("#"));
