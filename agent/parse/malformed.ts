import { TradewindError } from "@tradewind/core/values/errors.ts";

/** A kernel file whose text is not what its format says; names the format and shows the start of the text. */
export function malformed(format: string, text: string): TradewindError {
  const shown = JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
  return new TradewindError("malformed-file", `not ${format}: ${shown}`);
}
