import { expect, it } from "vitest";
import { ByteStrings } from "../../../../predictor/sources/otlp/byte-strings.ts";

it("a name read from memory that is used again for other names does not become one of them", () => {
  const strings = new ByteStrings();
  const memory = Buffer.alloc(4);
  // Many more names than places, so that names take each other's.
  for (let index = 0; index < 20_000; index += 1) {
    const name = index.toString(36).padStart(4, "-");
    memory.write(name);
    expect(strings.text(memory, 0, 4)).toBe(name);
  }
});
