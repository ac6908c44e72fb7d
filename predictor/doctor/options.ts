import { z } from "zod";

export const DoctorOptions = z.strictObject({
  /** The application's configuration, with its sources. */
  config: z.string().min(1).optional(),
  agents: z
    .array(z.url({ protocol: /^https?$/ }))
    .max(5_000)
    .default([]),
  predictor: z.url({ protocol: /^https?$/ }).optional(),
  exporter: z.url({ protocol: /^https?$/ }).optional(),
  /** Shown to agents, predictor and exporter. */
  tokenFile: z.string().min(1).optional(),
  /** Authority of the certificates of agents, predictor and exporter, PEM. */
  caFile: z.string().min(1).optional(),
  state: z.string().min(1).optional(),
  /** As the predictor's option: only `kubernetes[:namespace,…]` is looked at here. */
  workloads: z.string().min(1).optional(),
  kubeconfig: z.string().min(1).optional(),
  timeoutSeconds: z.number().positive().max(60).default(5),
});
export type DoctorOptions = z.infer<typeof DoctorOptions>;
