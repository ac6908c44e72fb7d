import { expect, it } from "vitest";
import { isStreamName } from "@tradewind/predictor/window/conventions.ts";

const SECOND_NS = 1e9;

it.each([
  ["GET /ws", true],
  ["/socket.io/", true],
  ["GET /api/sse/:topic", true],
  ["shop.Prices/Watch", true],
  ["shop.Prices/StreamAll", true],
  ["grpc.health.v1.Health/Watch", true],
  ["shop.Prices/Streamline", false],
  ["shop.Prices/GetStream", false],
  ["GET /streams", false],
  ["GET /Watch/all", false],
  ["GET /news", false],
  ["websocket", true],
  ["", false],
])("a second of '%s' is one of a stream: %s", (name, isStream) => {
  expect(isStreamName(name, SECOND_NS)).toBe(isStream);
});

it("no name makes an answer within a quarter of a second a stream", () => {
  expect(isStreamName("GET /ws", 0.2 * SECOND_NS)).toBe(false);
});
