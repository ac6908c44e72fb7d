import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { negotiate } from "@tradewind/agent/expose/format.ts";
import { Histogram } from "@tradewind/agent/expose/histogram.ts";
import { render } from "@tradewind/agent/expose/render.ts";
import { renderLabels, Table } from "@tradewind/agent/expose/table.ts";

const counter = { name: "tradewind_things_total", help: "Things.", kind: "counter" } as const;
const gauge = { name: "tradewind_level_bytes", help: "A level\nwith a \\.", kind: "gauge" } as const;

describe("render", () => {
  test("text 0.0.4: one header a family, absent values and empty families left out", () => {
    const table = new Table([counter, gauge]);
    table.row("a", { device: "a" }).values.set([3, Number.NaN]);
    table.row("b", { device: "b" }).values.set([0, Number.NaN]);
    expect([...render([table], "text")].join("")).toBe(
      '# HELP tradewind_things_total Things.\n# TYPE tradewind_things_total counter\ntradewind_things_total{device="a"} 3\ntradewind_things_total{device="b"} 0\n',
    );
  });

  test("OpenMetrics names a counter's family without _total and ends", () => {
    const table = new Table([counter, gauge]);
    table.row("").values.set([3, 1.5]);
    expect([...render([table], "openmetrics")].join("")).toBe(
      "# HELP tradewind_things Things.\n# TYPE tradewind_things counter\ntradewind_things_total 3\n# HELP tradewind_level_bytes A level\\nwith a \\\\.\n# TYPE tradewind_level_bytes gauge\ntradewind_level_bytes 1.5\n# EOF\n",
    );
  });

  test("columns of one name make one family, apart by their own label", () => {
    const level = { ...gauge, help: "Level." };
    const table = new Table([
      { ...level, label: 'part="cpu"' },
      { ...level, label: 'part="network"' },
    ]);
    table.row("x", { id: "x" }).values.set([1, 2]);
    table.row("").values.set([Number.NaN, 3]);
    expect([...render([table], "text")].join("")).toBe(
      '# HELP tradewind_level_bytes Level.\n# TYPE tradewind_level_bytes gauge\ntradewind_level_bytes{id="x",part="cpu"} 1\ntradewind_level_bytes{id="x",part="network"} 2\ntradewind_level_bytes{part="network"} 3\n',
    );
  });

  test("a large exposition comes in chunks that together are the whole", () => {
    const table = new Table([counter]);
    for (let row = 0; row < 5_000; row += 1) table.row(`${row}`, { device: `device-${row}` }).values[0] = row;
    const chunks = [...render([table], "text")];
    expect(chunks.length).toBeGreaterThan(3);
    expect(Math.max(...chunks.map((chunk) => chunk.length))).toBeLessThan(40_000);
    expect(chunks.join("").split("\n")).toHaveLength(5_003);
  });

  test("a deleted row leaves no series", () => {
    const table = new Table([counter]);
    table.row("a", { device: "a" }).values[0] = 1;
    table.row("b", { device: "b" }).values[0] = 1;
    table.retain(new Set(["b"]));
    table.delete("b");
    expect([...render([table], "text")].join("")).toBe("");
  });

  test("a histogram counts a value in its bucket and all above", () => {
    const histogram = new Histogram("tradewind_time_seconds", "Time.", [0.5, 1]);
    for (const value of [0.5, 0.7, 9]) histogram.observe(value);
    expect([...render([histogram], "text")].join("")).toBe(
      '# HELP tradewind_time_seconds Time.\n# TYPE tradewind_time_seconds histogram\ntradewind_time_seconds_bucket{le="0.5"} 1\ntradewind_time_seconds_bucket{le="1"} 2\ntradewind_time_seconds_bucket{le="+Inf"} 3\ntradewind_time_seconds_sum 10.2\ntradewind_time_seconds_count 3\n',
    );
    expect(histogram.text("openmetrics")).toContain('le="1.0"');
  });
});

describe("labels", () => {
  test("absent and empty ones are left out", () => {
    expect(renderLabels({ a: "1", b: undefined, c: "" })).toBe('{a="1"}');
    expect(renderLabels({})).toBe("");
  });

  test("any value can be read back", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1, maxLength: 40 }), (value) => {
        const rendered = renderLabels({ a: value });
        const inner = rendered.slice('{a="'.length, -'"}'.length);
        expect(inner).not.toMatch(/(?<!\\)(?:\\\\)*"/);
        expect(inner).not.toContain("\n");
        const back = inner.replaceAll(/\\(["\\n])/g, (_all, escaped: string) =>
          escaped === "n" ? "\n" : escaped,
        );
        expect(back).toBe(value);
      }),
    );
  });
});

describe("negotiation", () => {
  it.each([
    [undefined, "text"],
    ["", "text"],
    ["*/*", "text"],
    ["text/plain;version=0.0.4", "text"],
    [
      "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
      "openmetrics",
    ],
    ["text/plain;q=0.9, application/openmetrics-text;q=0.2", "text"],
    ["application/openmetrics-text;q=0", "text"],
    ["application/openmetrics-text; q=nonsense", "text"],
  ] as const)("Accept: %s gives %s", (accept, format) => {
    expect(negotiate(accept)).toBe(format);
  });

  test("any header gets an answer", () => {
    fc.assert(
      fc.property(fc.string(), (accept) => {
        expect(["text", "openmetrics"]).toContain(negotiate(accept));
      }),
    );
  });
});
