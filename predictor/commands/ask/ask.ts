import { accessOf, addAccessFlags, askFor } from "@tradewind/core/net/endpoint/own-process.ts";
import type { AccessFlags } from "@tradewind/core/net/endpoint/own-process.ts";
import type { Command } from "commander";
import type { z } from "zod";

/** Flags of commands that show what a predictor knows of one application. */
export interface ApplicationFlags extends AccessFlags {
  readonly predictor: string;
  readonly application?: string;
  readonly namespace?: string;
}

/** Adds {@link ApplicationFlags}. */
export function addApplicationFlags(command: Command): Command {
  command
    .option("--predictor <url>", "address of the predictor", "http://127.0.0.1:9811")
    .option("--application <name>", "of this application, where the predictor has several")
    .option("--namespace <name>", "of the application in this namespace");
  return addAccessFlags(command, "the predictor");
}

/** What is asked for. */
export interface Asked<Answer> {
  readonly path: string;
  /** Besides the application; undefined values are left out. */
  readonly query?: Readonly<Record<string, string | undefined>>;
  /** Sent by POST. */
  readonly body?: object;
  readonly schema: z.ZodType<Answer>;
  /** Code of the error where the predictor has nothing to show. */
  readonly absent: string;
}

/** @throws TradewindError in words for a person at a terminal */
export async function askPredictor<Answer>(
  { application, namespace, predictor, ...flags }: ApplicationFlags,
  { absent, body, path, query, schema }: Asked<Answer>,
): Promise<Answer> {
  const given = Object.entries({ ...query, application, namespace }).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, value] as const],
  );
  return askFor(
    { name: "predictor", url: predictor, flag: "--predictor" },
    accessOf(flags),
    { path, query: Object.fromEntries(given), ...(body !== undefined && { json: body }) },
    { absent, schema },
  );
}
