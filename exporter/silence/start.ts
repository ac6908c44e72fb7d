import type { ExporterOptions } from "../options.ts";
import { Alone } from "./alone.ts";
import type { AloneOptions } from "./alone.ts";

type StartOptions = Omit<AloneOptions, "agents" | "everyMs" | "tokenFile" | "caFile"> & {
  readonly options: ExporterOptions;
};

/** Begins to look for silences where there are agents to ask. @returns what ends it */
export function startAlone({ options, ...parts }: StartOptions): () => Promise<void> {
  const { agents, agentsCaFile: caFile, agentsPollMs: everyMs, agentsTokenFile: tokenFile } = options;
  if (agents === undefined) return async () => undefined;
  const alone = new Alone({ ...parts, agents, caFile, everyMs, tokenFile });
  alone.start();
  return async () => alone.stop();
}
