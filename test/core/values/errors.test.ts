import { describe, expect, it } from "vitest";
import { z } from "zod";
import { parseJsonWith } from "@tradewind/core/values/config.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";

describe("describeError", () => {
  it("says once what a cause says in the same words", () => {
    const cause = new RangeError("too short");
    expect(describeError(new TradewindError("history-too-short", cause.message, { cause }))).toBe(
      "too short",
    );
  });

  it("joins the messages of the causes, outermost first", () => {
    const error = new TradewindError("no-snapshot", "agent did not answer", {
      cause: new Error("connect ECONNREFUSED"),
    });
    expect(describeError(error)).toBe("agent did not answer: connect ECONNREFUSED");
  });

  it("says what a schema found wrong in words, without the issues as JSON", () => {
    const schema = z.object({ spec: z.object({ replicas: z.number() }), kind: z.string() });
    const { error } = schema.safeParse({ spec: { replicas: "two" } });
    const words =
      "spec.replicas: Invalid input: expected number, received string; kind: Invalid input: expected string, received undefined";
    expect(describeError(error)).toBe(words);
    expect(describeError(new Error("a Deployment is left out", { cause: error }))).toBe(
      `a Deployment is left out: ${words}`,
    );
  });

  it.each([
    [z.number().min(1), 0, "must be at least 1"],
    [z.number().max(100), 101, "must be at most 100"],
    [z.int().positive(), 0, "must be more than 0"],
    [z.string().min(2), "a", "Too small: expected string to have >=2 characters"],
  ])(
    "says a bound that %j breaks as a sentence, and other problems as the schema does",
    (schema, value, words) => {
      const { error } = z.object({ replicas: schema }).safeParse({ replicas: value });
      expect(describeError(error)).toBe(`replicas: ${words}`);
    },
  );

  it("ends on causes that point at each other, and says something for what is no error", () => {
    const one = new Error("one");
    one.cause = new Error("other", { cause: one });
    expect(describeError(one).split(": ")).toHaveLength(8);
    expect(describeError(undefined)).toBe("unknown error");
    expect(describeError({ status: 503 })).toBe("{ status: 503 }");
  });
});

describe("parseJsonWith", () => {
  const schema = z.strictObject({ objective: z.strictObject({ milliseconds: z.number().positive() }) });

  it("names the document, the path and the problem", () => {
    expect(() => parseJsonWith(schema, '{"objective":{"milliseconds":-1}}', "app.json")).toThrow(
      /^app\.json is not valid: objective\.milliseconds: must be more than 0$/,
    );
  });

  it("is described once, in words, without the issues as JSON", () => {
    const problem = (): unknown => {
      try {
        return parseJsonWith(schema, '{"objective":{"milliseconds":-1}}', "app.json");
      } catch (error) {
        return error;
      }
    };
    const described = describeError(problem());
    expect(described).toMatch(/^app\.json is not valid: objective\.milliseconds: must be more than 0$/);
    expect(described).not.toContain("[");
  });

  it("says so when the text is no JSON at all", () => {
    expect(() => parseJsonWith(schema, "{", "app.json")).toThrow("app.json is not JSON");
  });
});
