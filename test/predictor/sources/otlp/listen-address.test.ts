import { describe, expect, it } from "vitest";
import { formatListen, parseListen } from "@tradewind/predictor/sources/otlp/listen-address.ts";

describe("parseListen", () => {
  it.each(["127.0.0.1:4318", "[::1]:4318", "localhost:0"])(
    "reads %s, which formatListen writes again",
    (text) => {
      expect(formatListen(parseListen(text))).toBe(text);
    },
  );

  it.each(["[:]:4", "[1.2]:80", "a:b", "host:65536", "4318", ""])("refuses '%s'", (text) => {
    expect(() => parseListen(text)).toThrow("is not host:port");
  });
});
