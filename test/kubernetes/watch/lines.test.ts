import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readLines } from "@tradewind/kubernetes/watch/lines.ts";

async function* chunksOf(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array, void, void> {
  let start = 0;
  for (const cut of [...cuts, bytes.length]) {
    const end = Math.min(bytes.length, Math.max(start, cut));
    yield await Promise.resolve(bytes.subarray(start, end));
    start = end;
  }
}

const collect = async (lines: AsyncIterable<string>): Promise<string[]> => {
  const all: string[] = [];
  for await (const line of lines) all.push(line);
  return all;
};

describe("readLines", () => {
  it("gives the same lines however the stream is cut, also inside of characters", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }), { maxLength: 8 }),
        fc.array(fc.nat(100), { maxLength: 10 }),
        async (texts, cuts) => {
          const lines = texts.map((text) => text.replaceAll("\n", "_"));
          const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
          expect(
            await collect(
              readLines(
                chunksOf(
                  bytes,
                  cuts.sort((a, b) => a - b),
                ),
                1_000,
              ),
            ),
          ).toEqual(lines);
        },
      ),
    );
  });

  it("refuses a line that does not end", async () => {
    const endless = chunksOf(Buffer.alloc(100, "x"), [10, 20, 30, 40, 50]);
    await expect(collect(readLines(endless, 32))).rejects.toThrow(/longer than 32 bytes/);
  });
});
