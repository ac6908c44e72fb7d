import { describe, expect, it } from "vitest";
import { readRecordLines, recordLines } from "@tradewind/core/process/record-lines.ts";

const textOf = (records: readonly unknown[]): string =>
  [
    ...recordLines(
      { schema: "a/v1", open: undefined },
      "list",
      records.map((each) => JSON.stringify(each)),
    ),
  ].join("");

describe("a document with one record a line", () => {
  it.each([[[]], [[1]], [["a\nb", { c: [2] }, null]]])("of %j is JSON as a whole", (list) => {
    const text = textOf(list);
    expect(JSON.parse(text)).toEqual({ schema: "a/v1", list });
    expect(readRecordLines(text, "list", "it")).toEqual({ document: { schema: "a/v1", list }, damage: [] });
  });

  it("cut anywhere behind its first line gives the records before the cut, and says that it ends early", () => {
    const list = [{ a: 1 }, { b: "]}" }, { c: 3 }];
    const text = textOf(list);
    for (let length = text.indexOf("\n"); length < text.length - 2; length += 1) {
      const { damage, document } = readRecordLines(text.slice(0, length), "list", "it");
      const { list: read } = document as { list: unknown[] };
      expect(read).toEqual(list.slice(0, read.length));
      expect(damage[0]).toBe("it ends early");
    }
  });

  it.each(["", "{", '{"schema":"a/v1"', "\0\0", '{"schema":"a/v1","other":[\n1\n'])(
    "without its first line (%j) is refused",
    (text) => {
      expect(() => readRecordLines(text, "list", "it")).toThrow("it is not JSON");
    },
  );
});
