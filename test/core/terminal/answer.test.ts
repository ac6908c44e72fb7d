import { describe, expect, it } from "vitest";
import { exitCodes } from "@tradewind/core/terminal/answer.ts";
import { coloured, plain } from "@tradewind/core/terminal/style.ts";
import { renderTable } from "@tradewind/core/terminal/table.ts";

describe("renderTable", () => {
  const columns = [{ title: "service" }, { title: "ready", align: "right" }, { title: "why" }] as const;

  it("sets columns two spaces apart, numbers at the right, without blanks at the end of a line", () => {
    const rows = [
      ["frontend", "12", "busy"],
      ["geo", "1", ""],
    ];
    expect(renderTable(columns, rows, plain)).toBe(
      ["service   ready  why", "frontend     12  busy", "geo           1"].join("\n"),
    );
  });

  it("counts no colour as width", () => {
    const text = renderTable(columns, [[coloured("red", "geo"), coloured("green", "1"), "x"]], plain);
    // eslint-disable-next-line no-control-regex -- colour sequences are what is taken out
    expect(text.replace(/\u001b\[\d+m/g, "")).toBe("service  ready  why\ngeo          1  x");
  });
});

describe("exitCodes", () => {
  it("says the same of 2 for every command", () => {
    expect(exitCodes("shown", "no answer", "130 stopped")).toBe(
      "Exit codes: 0 shown; 1 no answer; 2 the command line, or a file that it names, must be changed; 130 stopped.",
    );
  });
});
