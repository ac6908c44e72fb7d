import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { parseApplication } from "../application/file.ts";
import { ScaledObject } from "../objects/autoscaler.ts";
import { VerticalPodAutoscaler } from "../objects/vpa.ts";
import { recommendationTriggers } from "../workloads/recommendation-triggers.ts";

const Written = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({}),
});

/** One YAML file. */
export interface InitFile {
  readonly name: string;
  readonly yaml: string;
}

/**
 * Reads what was written as kubectl and Tradewind do.
 * @throws TradewindError `unreadable-output` that names the object; nothing is printed then
 */
export function readBack(files: readonly InitFile[]): void {
  for (const { name, yaml } of files) {
    for (const document of parseAllDocuments(yaml, { version: "1.1" })) {
      const [error] = "errors" in document ? document.errors : [];
      try {
        if (error !== undefined) throw error;
        readObject(document.toJS());
      } catch (cause) {
        const what = `what was written as ${name} cannot be read back, so nothing is printed: ${describeError(cause)}`;
        throw new TradewindError("unreadable-output", what.slice(0, 600), { cause });
      }
    }
  }
}

function readObject(value: unknown): void {
  const { kind, metadata, spec } = Written.parse(value);
  const object = { metadata: { uid: metadata.name, ...metadata }, spec };
  const what = `${kind} '${metadata.name}'`;
  if (kind === "Application") parseApplication({ ...spec, ...metadata }, what);
  if (kind === "VerticalPodAutoscaler") VerticalPodAutoscaler.parse(object);
  if (kind === "ScaledObject") {
    const scaledObject = ScaledObject.parse(object);
    const [trigger] = recommendationTriggers([scaledObject], []);
    if (trigger === undefined) throw new TypeError(`${what} does not ask Tradewind`);
    if (scaledObject.minReplicas > scaledObject.maxReplicas) {
      throw new RangeError(`${what} has minReplicaCount above maxReplicaCount`);
    }
  }
}
