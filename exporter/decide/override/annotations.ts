import { z } from "zod";
import { OverrideText } from "@tradewind/core/contract/override.ts";
import { ServiceName } from "@tradewind/core/contract/quantity.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { parseWith } from "@tradewind/core/values/config.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import type { Overrides } from "./overrides.ts";
import { OverrideOrder } from "./rules.ts";

/** Each is written to disk by itself, and its writer may be any tenant. */
const MOST_ORDERS = 20;
/** What could not be taken is tried again this often: its service may have no decision yet. ms */
const AGAIN_MS = 10_000;
/** The annotation of one object is read this often at most, however often it changes. ms */
const PAUSE_MS = 3_000;
/** Of the name that an annotation gives. */
const MOST_CHARACTERS = 180;

/** An end as a time, never as a length: an annotation that a GitOps controller writes again then means the same. */
const Annotated = OverrideOrder.omit({ application: true, forSeconds: true, name: true, namespace: true })
  .extend({ service: ServiceName.optional(), by: OverrideText.optional() })
  .required({ until: true });
type AnnotatedOrder = z.infer<typeof Annotated>;
const Annotations = z.union([Annotated.transform((one) => [one]), z.array(Annotated).max(MOST_ORDERS)]);

interface Place {
  readonly namespace: string;
  readonly application: string;
  /** Of the workload that carries it; absent: it is of the Application. */
  readonly service?: string;
}

/**
 * Takes the overrides that annotations of Applications and workloads order. Each is taken once, by what it says; that it goes away again, as a
 * GitOps controller takes it back, ends nothing.
 */
export class AnnotatedOverrides {
  readonly #overrides: Pick<Overrides, "list" | "order">;
  readonly #log: Logger;
  readonly #tried = new Map<string, { text: string; againMs: number; pauseUntilMs: number }>();

  constructor(overrides: Pick<Overrides, "list" | "order">, log: Logger) {
    this.#overrides = overrides;
    this.#log = log;
  }

  /** @param text of the annotation; undefined where there is none. Never throws. */
  async take(place: Place, text: string | undefined, { monotonicMs, nowMs }: Now): Promise<void> {
    const key = [place.namespace, place.application, place.service ?? ""].join("/");
    const tried = this.#tried.get(key);
    const isEarly = tried !== undefined && monotonicMs < tried.pauseUntilMs;
    if (text === undefined || isEarly || (tried?.text === text && monotonicMs < tried.againMs)) return;
    // One that is being taken is not taken again meanwhile.
    const attempt = { text, againMs: monotonicMs + AGAIN_MS, pauseUntilMs: monotonicMs + PAUSE_MS };
    this.#tried.set(key, attempt);
    const problems: string[] = [];
    try {
      for (const each of ordersIn(text)) {
        await this.#order(place, each, nowMs).catch((error: unknown) => {
          problems.push(describeError(error));
        });
      }
    } catch (error) {
      problems.push(describeError(error));
    }
    if (problems.length === 0) attempt.againMs = Infinity;
    else if (tried?.text !== text)
      this.#log.warn(
        { ...place, problem: problems.join("; ").slice(0, 1_000) },
        "an annotated override is not taken",
      );
  }

  async #order(
    { application, namespace, service: own }: Place,
    { by, service = own, ...order }: AnnotatedOrder,
    nowMs: number,
  ): Promise<void> {
    if (own !== undefined && service !== own)
      throw new TradewindError("invalid-input", `the annotation of ${own} names ${service}`);
    const place = { namespace, application };
    const id = contentHash([place, service ?? "", order, by ?? ""]).slice(0, 10);
    const isKnown = this.#overrides.list().some((each) => each.id === id);
    if (isKnown || Date.parse(order.until) <= nowMs) return;
    const name = service === undefined ? {} : { name: service };
    const orderer = {
      id,
      by: by === undefined ? "annotation" : `${by.slice(0, MOST_CHARACTERS)} (annotation)`,
    };
    await this.#overrides.order({ ...order, ...place, ...name }, orderer);
  }
}

interface Now {
  readonly nowMs: number;
  readonly monotonicMs: number;
}

function ordersIn(text: string): z.infer<typeof Annotations> {
  const annotationName = "the annotation tradewind.dev/override";
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new TradewindError("invalid-input", `${annotationName} is not JSON`, { cause: error });
  }
  return parseWith(Annotations, value, annotationName);
}
