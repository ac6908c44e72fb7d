import { readFile } from "node:fs/promises";
import { z } from "zod";
import { parseWith } from "@tradewind/core/values/config.ts";
import { configurationOfText } from "@tradewind/kubernetes/application/file.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { StoreOptions } from "../store/options.ts";
import { OpenCostOptions } from "./opencost/prices.ts";
import { OtlpOptions } from "./otlp/options.ts";
import { PrometheusOptions } from "./prometheus/options.ts";
import { TRACE_SECTIONS, traceOptions } from "./trace-sources.ts";

/** Sections of the configuration file that say where measurements come from and where they are kept. */
export const SourcesConfig = z
  .strictObject({
    prometheus: z.array(PrometheusOptions).max(16).default([]),
    ...TRACE_SECTIONS,
    otlp: OtlpOptions.prefault({}),
    opencost: OpenCostOptions.optional().describe("Prices in the place of those that applications state."),
  })
  .superRefine((sources, context) => {
    const names = [...sources.prometheus, ...traceOptions(sources)].map(({ name }) => name);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) {
      context.addIssue({
        code: "custom",
        message: `two sources are called '${twice}'; give each its own name`,
      });
    }
  });
type SourcesConfig = z.infer<typeof SourcesConfig>;
/** The sources that have to be asked. */
export type AskedSources = Omit<SourcesConfig, "otlp" | "opencost">;

const Sections = z.object({ sources: SourcesConfig.prefault({}), store: StoreOptions.prefault({}) });
export type Sections = z.infer<typeof Sections>;

/**
 * @param path undefined for the defaults: nothing is asked, and the store keeps what it keeps by default
 * @throws TradewindError `invalid-config` or `invalid-input` that names the file and what is wrong in it
 */
export async function readSections(path: string | undefined): Promise<Sections> {
  if (path === undefined) return Sections.parse({});
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    throw new TradewindError("invalid-config", `the configuration ${path} cannot be read`, { cause: error });
  }
  const value = configurationOfText(text, path);
  return parseWith(Sections, value, `the configuration ${path}`);
}
