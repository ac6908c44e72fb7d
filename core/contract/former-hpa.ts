import { z } from "zod";

const Direction = z.strictObject({
  stabilizationWindowSeconds: z
    .number()
    .min(0)
    .max(3_600)
    .optional()
    .describe("For how long past proposals count."),
  selectPolicy: z
    .enum(["Max", "Min", "Disabled"])
    .optional()
    .describe("Which of the policies counts; Disabled: it never moves this way."),
  policies: z
    .array(
      z.strictObject({
        type: z.enum(["Pods", "Percent"]).describe("What value counts."),
        value: z.number().int().min(1).describe("Most that is changed within the period."),
        periodSeconds: z.number().int().min(1).max(1_800).describe("Length of the period, s."),
      }),
    )
    .min(1)
    .max(20)
    .optional()
    .describe("How fast it may move."),
  tolerance: z
    .number()
    .min(0)
    .max(100)
    .optional()
    .describe("Share by which use may miss the target without any move."),
});

/** `spec.behavior` of a HorizontalPodAutoscaler; what is absent is as Kubernetes has it. */
export const FormerBehavior = z.strictObject({
  scaleUp: Direction.optional().describe("Rules for more replicas."),
  scaleDown: Direction.optional().describe("Rules for fewer replicas."),
});

/** What scaled a service before: reports compare with what it would have done. */
export const FormerHpa = z.strictObject({
  cpuPercent: z
    .number()
    .min(1)
    .max(1_000)
    .default(60)
    .describe("Target of CPU use, percent of what the containers request."),
  minReplicas: z.number().int().min(1).optional().describe("Defaults to that of the service, at least 1."),
  maxReplicas: z.number().int().min(1).optional().describe("Defaults to that of the service."),
  behavior: FormerBehavior.optional().describe(
    "spec.behavior of the HPA; what is absent is as Kubernetes has it.",
  ),
});
