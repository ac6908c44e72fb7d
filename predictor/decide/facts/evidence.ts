import { ContentHash, Count, NonNegative, ServiceName } from "@tradewind/core/contract/quantity.ts";
import { z } from "zod";
import type { Use } from "../../models/residual/residual.ts";
import type { ResidualModel } from "../../models/residual/residual-model.ts";

/** A trained residual of a service's tracked profile, as far as later windows bear it out. */
export const ResidualEvidence = z.strictObject({
  /** Content of the model file, see models/residual/residual-model.ts. */
  hash: ContentHash,
  version: z.number().int().min(1),
  /** Factor on it. Records of releases that used a residual whole or not at all have none. */
  weight: z.number().min(0).max(1).default(1),
  /** Variance of ln of the self time that is left with it, less chance, over so many windows after those that trained it. */
  variance: NonNegative,
  windows: Count,
});
export type ResidualEvidence = z.infer<typeof ResidualEvidence>;

/**
 * What is known of one service when a decision is made besides what its state says. Of a trained model only the name: so the
 * inputs stay small.
 */
export const ServiceEvidence = z.object({
  service: ServiceName,
  /** Absent in records of releases that kept something else of a service, which is left out. */
  residual: ResidualEvidence.optional(),
  /** See models/residual/accuracy.ts; no decision depends on it. */
  accuracy: z
    .strictObject({
      error: NonNegative,
      bias: z.number(),
      coverage: z.number().min(0).max(1),
      windows: Count,
    })
    .optional(),
});
export type ServiceEvidence = z.infer<typeof ServiceEvidence>;

/** Give back the model that a hash in the evidence names; undefined when it is not there. */
export interface Models {
  residual(hash: string): ResidualModel | undefined;
}
export const NO_MODELS: Models = {
  residual: () => undefined,
};

/** A trained residual of a service's tracked profile, and how it is used. */
export interface ResidualInUse extends Required<Use> {
  readonly model: ResidualModel;
  readonly hash: string;
}
export type Residuals = ReadonlyMap<string, ResidualInUse>;

/** The residuals that the evidence names, by service; one whose model is gone is left out. */
export function residualsInUse(evidence: readonly ServiceEvidence[], models: Models): Residuals {
  return new Map(
    evidence.flatMap(({ residual, service }): [string, ResidualInUse][] => {
      if (residual === undefined) return [];
      const { hash, variance, weight } = residual;
      const model = models.residual(hash);
      return model === undefined ? [] : [[service, { model, hash, variance, weight }]];
    }),
  );
}
