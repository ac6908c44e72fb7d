import { describe, expect, it } from "vitest";
import { EndpointOptions } from "@tradewind/core/net/endpoint/options.ts";

const problemsOf = (url: string): string[] =>
  EndpointOptions.safeParse({ url }).error?.issues.map(({ message }) => message) ?? [];

describe("the address of a source", () => {
  it.each(["0", "", "http://", "ftp://a", "prometheus:9090"])(
    "'%s' is refused in words, not with an exception",
    (url) => {
      expect(problemsOf(url)).toEqual(["must be an http:// or https:// address"]);
    },
  );

  it("must not hold a user", () => {
    expect(problemsOf("http://u:p@prometheus:9090")).toEqual([expect.stringContaining("user or password")]);
  });

  it("may have a path", () => {
    expect(problemsOf("https://metrics.example/prometheus")).toEqual([]);
  });
});
