import type { Application } from "@tradewind/core/contract/application.ts";
import type { Annotated } from "./resource.ts";

/** One application as its source knows it. */
export interface ApplicationEntry {
  /** Where its configuration is: a path, or `crd:namespace/name`. */
  readonly origin: string;
  /** Its last valid state; undefined where it never had one. */
  readonly application: Application | undefined;
  /** What is wrong with its newest state; undefined when it is the one in use. */
  readonly problem: string | undefined;
  /** Changes that the annotations of a resource decide on. */
  readonly annotated?: Annotated;
  /** Generation of the resource's last valid state; absent where there is none, and of a file. */
  readonly generation?: number | undefined;
  /** Of a resource that never was valid. */
  readonly place?: { readonly namespace: string; readonly name: string };
}

/** Tells which applications there are, and follows them. */
export interface ApplicationEntries {
  entries(): readonly ApplicationEntry[];
  /** Why it is not known yet which there are; undefined once it is. */
  whyNot(): string | undefined;
  start(onChange: () => void): Promise<void>;
  stop(): Promise<void>;
}
