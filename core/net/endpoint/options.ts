import { z } from "zod";
import { patternedText } from "../../contract/quantity.ts";

const HttpUrl = z
  .url({ protocol: /^https?$/, error: "must be an http:// or https:// address" })
  .max(2_000)
  .refine((text) => !URL.canParse(text) || `${new URL(text).username}${new URL(text).password}` === "", {
    error: "must not hold a user or password; use basicAuth with passwordFile",
  });

const FilePath = z.string().min(1).max(4_096);

/** How to reach one outside server. Secrets live in files, which are read again when they change. */
export const EndpointOptions = z.strictObject({
  url: HttpUrl.describe("Base address; a path is kept, for example https://metrics.example/prometheus."),
  basicAuth: z
    .strictObject({ username: z.string().min(1).max(500), passwordFile: FilePath })
    .optional()
    .describe("HTTP basic authentication; the password is the file's content without the last newline."),
  bearerTokenFile: FilePath.optional().describe("File with a bearer token, for example a projected token."),
  tls: z
    .strictObject({
      caFile: FilePath.optional().describe("PEM of the authority that signed the server's certificate."),
      certFile: FilePath.optional().describe("PEM of our certificate, for mutual TLS."),
      keyFile: FilePath.optional().describe("PEM of our key, for mutual TLS."),
      serverName: z.string().min(1).max(253).optional(),
      insecureSkipVerify: z.boolean().default(false),
    })
    .refine(({ certFile, keyFile }) => (certFile === undefined) === (keyFile === undefined), {
      error: "certFile and keyFile must be given together",
    })
    .optional(),
  headers: z
    .record(patternedText(64, /^[A-Za-z0-9-]+$/), z.string().max(1_000))
    .default({})
    .describe("Further headers that are no secret, for example X-Scope-OrgID."),
  timeoutSeconds: z
    .number()
    .positive()
    .max(1_800)
    .default(10)
    .describe("Deadline of one call with its retries."),
  maxAttempts: z.number().int().min(1).max(10).default(3),
  maxResponseBytes: z
    .number()
    .int()
    .min(1_024)
    .max(1_073_741_824)
    .default(64 * 1_048_576),
});
export type EndpointOptions = z.infer<typeof EndpointOptions>;
