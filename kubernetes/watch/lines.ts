import { TradewindError } from "@tradewind/core/values/errors.ts";

/**
 * Splits a stream of bytes into lines of text.
 * @throws TradewindError `too-large` when a line does not end within the limit
 */
export async function* readLines(
  bytes: AsyncIterable<Uint8Array>,
  maxLineBytes: number,
): AsyncGenerator<string, void, void> {
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  for await (const chunk of bytes) {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      const line = Buffer.concat([...held, chunk.subarray(start, end)]).toString("utf8");
      held = [];
      heldBytes = 0;
      start = end + 1;
      if (line !== "") yield line;
    }
    if (start === chunk.byteLength) continue;
    held.push(chunk.subarray(start));
    heldBytes += chunk.byteLength - start;
    if (heldBytes > maxLineBytes) {
      throw new TradewindError("too-large", `a line of a watch is longer than ${maxLineBytes} bytes`);
    }
  }
  if (heldBytes > 0) yield Buffer.concat(held).toString("utf8");
}
