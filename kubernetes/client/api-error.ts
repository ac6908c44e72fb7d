import { z } from "zod";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { describePlace } from "./resources.ts";
import type { Place } from "./resources.ts";

/** A refusal of the Kubernetes API, or no answer at all (`status` is then 0). Holds no token. */
export class ApiError extends TradewindError {
  readonly status: number;
  /** The API's own word, for example `AlreadyExists`, `Conflict`, `Expired`; empty when it gave none. */
  readonly reason: string;
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    facts: { status: number; reason?: string; retryAfterMs?: number | undefined; cause?: unknown },
  ) {
    super("kubernetes-api", message, { cause: facts.cause });
    this.name = "ApiError";
    this.status = facts.status;
    this.reason = facts.reason ?? "";
    this.retryAfterMs = facts.retryAfterMs;
  }

  /** Somebody else changed the object, or it exists already. */
  get isConflict(): boolean {
    return this.status === 409;
  }

  /** The resource version is too old to go on from. */
  get isExpired(): boolean {
    return this.status === 410;
  }

  get isMissing(): boolean {
    return this.status === 404;
  }

  get isForbidden(): boolean {
    return this.status === 403;
  }

  /** The server did not take the call up: trying again cannot do it twice. */
  get wasNotProcessed(): boolean {
    return this.status === 429 || this.status === 401;
  }

  /** Another attempt may succeed without anybody mending anything. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** What the API answers instead of an object when it refuses. */
const Status = z.object({
  message: z.string().max(10_000).optional(),
  reason: z.string().max(200).optional(),
  details: z.object({ retryAfterSeconds: z.number().min(0).optional() }).nullish(),
});

/** A server that asks for more is asked again after a day all the same. */
const MAX_RETRY_SECONDS = 86_400;

const REMEDIES: Readonly<Record<number, string>> = {
  401: "the token was not accepted; check the service account and the clock",
  403: "give the service account this right (docs/kubernetes.md lists them all)",
};

/** The error for an answer that is not 2xx. */
export function refusal(
  verb: string,
  place: Place,
  answer: { status: number; text: string; retryAfterMs: number | undefined },
): ApiError {
  const status = statusIn(answer.text);
  const said = (status.message ?? answer.text).replaceAll(/\p{C}+/gu, " ").trim();
  const remedy = REMEDIES[answer.status];
  const detail = `${said === "" ? "" : `: ${said.slice(0, 500)}`}${remedy === undefined ? "" : `; ${remedy}`}`;
  const message = `the Kubernetes API answered ${answer.status} to ${verb} ${describePlace(place)}${detail}`;
  const seconds = status.details?.retryAfterSeconds;
  return new ApiError(message, {
    status: answer.status,
    reason: status.reason ?? "",
    retryAfterMs:
      answer.retryAfterMs ?? (seconds === undefined ? undefined : 1e3 * Math.min(seconds, MAX_RETRY_SECONDS)),
  });
}

/** The error inside an ERROR event of a watch. */
export function refusalInWatch(place: Place, object: unknown): ApiError {
  const parsed = Status.extend({ code: z.number().int().optional() }).safeParse(object);
  const { code = 0, reason = "", message = "no reason given" } = parsed.success ? parsed.data : {};
  const text = `the watch of ${describePlace(place)} ended with ${code} ${reason}: ${message.slice(0, 500)}`;
  return new ApiError(text, { status: code, reason });
}

function statusIn(text: string): z.infer<typeof Status> {
  try {
    const parsed = Status.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : {};
  } catch {
    return {};
  }
}
