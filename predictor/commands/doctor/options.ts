import { z } from "zod";

export const DoctorOptions = z.strictObject({
  /** Configurations of applications, with their sources, as the predictor's option. */
  config: z
    .union([
      z.array(z.string().min(1)),
      z
        .string()
        .min(1)
        .transform((one) => [one]),
    ])
    .default([]),
  /** File with the sections `sources` and `store`. */
  sources: z.string().min(1).optional(),
  agents: z
    .array(z.url({ protocol: /^https?$/ }))
    .max(5_000)
    .default([]),
  predictor: z.url({ protocol: /^https?$/ }).optional(),
  scaler: z.url({ protocol: /^https?$/ }).optional(),
  /** Shown to agents, predictor and scaler. */
  tokenFile: z.string().min(1).optional(),
  /** Authority of the certificates of agents, predictor and scaler, PEM. */
  caFile: z.string().min(1).optional(),
  /** The name that their certificates are checked for, where the address is another one. */
  serverName: z.string().min(1).optional(),
  state: z.string().min(1).optional(),
  /** As the predictor's option: only `kubernetes[:namespace,…]` is looked at here. */
  workloads: z.string().min(1).optional(),
  kubeconfig: z.string().min(1).optional(),
  /** Receives spans and metrics for so long, and says what came. s */
  listenSeconds: z.number().min(1).max(3_600).optional(),
  /** Where it receives OTLP over HTTP, and Zipkin; over gRPC. */
  otlpListen: z.string().default("127.0.0.1:4318"),
  otlpGrpcListen: z.string().default("127.0.0.1:4317"),
  /** File that a Collector's configuration is written to; absent: it is printed. */
  collectorConfig: z.string().min(1).optional(),
  /** As the predictor's option. */
  graceSeconds: z.number().min(0).max(600).default(5),
  timeoutSeconds: z.number().positive().max(60).default(5),
});
export type DoctorOptions = z.infer<typeof DoctorOptions>;
