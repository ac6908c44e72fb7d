import { accessOf, asking } from "@tradewind/core/net/endpoint/own-process.ts";
import type { AccessFlags } from "@tradewind/core/net/endpoint/own-process.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";

/** Of a command that names scalers, separated by commas. */
export interface ScalerFlags extends AccessFlags {
  readonly scaler: string;
}

type Question<Reply> = Parameters<typeof asking<Reply>>[2];

export const scalerAt = (url: string) => ({ name: "scaler" as const, url, flag: "--scaler" });

const addressesOf = ({ scaler }: ScalerFlags): string[] => scaler.split(",").map((each) => each.trim());

/** Asks every scaler. @throws TradewindError of the first one that does not answer */
export async function askAll<Reply>(flags: ScalerFlags, question: Question<Reply>): Promise<Reply[]> {
  const replies: Reply[] = [];
  for (const url of addressesOf(flags)) replies.push(await asking(scalerAt(url), accessOf(flags), question));
  return replies;
}

/**
 * Tells every scaler, since KEDA asks any of them.
 * @returns replies of those that took it, and why the others did not
 * @throws TradewindError `not-taken` where none did
 */
export async function tellAll<Reply>(
  flags: ScalerFlags,
  order: Question<Reply>,
): Promise<{ readonly replies: Reply[]; readonly problems: string[] }> {
  const replies: Reply[] = [];
  const problems: string[] = [];
  for (const url of addressesOf(flags)) {
    try {
      replies.push(await asking(scalerAt(url), accessOf(flags), order));
    } catch (error) {
      problems.push(describeError(error));
    }
  }
  if (replies.length === 0) throw new TradewindError("not-taken", [...new Set(problems)].join("; "));
  return { replies, problems };
}
