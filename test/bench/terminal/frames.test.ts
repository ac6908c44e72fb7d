import { describe, expect, it } from "vitest";
import { EmulatedTerminal } from "../../../bench/terminal/emulated.ts";
import { castOf, drawingOf } from "../../../bench/terminal/frames.ts";

const ESC = "\u001B[";
const shown = (terminal: EmulatedTerminal): string[] =>
  terminal
    .lines()
    .map((line) => line.map(({ character }) => character).join(""))
    .slice(0, 4);

describe("an emulated terminal", () => {
  it("draws over lines as the live picture does: up, erase, write", () => {
    const terminal = new EmulatedTerminal(20, 4);
    terminal.write("one\r\ntwo\r\nthree");
    terminal.write(`${ESC}1A${ESC}G${ESC}2KTWO${ESC}K${ESC}1B${ESC}Gthr${ESC}K`);
    expect(shown(terminal)).toEqual(["one", "TWO", "thr", ""]);
  });

  it("scrolls at its end, and wraps a line that is too long", () => {
    const terminal = new EmulatedTerminal(3, 2);
    terminal.write("abcde\r\nf");
    expect(shown(terminal)).toEqual(["de", "f"]);
  });

  it("knows bold, dim and colours, and where each ends", () => {
    const terminal = new EmulatedTerminal(20, 1);
    terminal.write(`${ESC}1m${ESC}31ma${ESC}39mb${ESC}22mc`);
    expect(terminal.lines()[0]!.map(({ style }) => style)).toEqual(["1;31", "1", ""]);
  });

  it("passes over what hides the cursor or holds the screen back", () => {
    const terminal = new EmulatedTerminal(20, 1);
    terminal.write(`${ESC}?25l${ESC}?2026ha${ESC}?2026l`);
    expect(shown(terminal)).toEqual(["a"]);
  });
});

describe("frames of a terminal", () => {
  const terminal = new EmulatedTerminal(10, 2);
  terminal.write("a <b>\r\nsame");
  const first = { seconds: 0, lines: terminal.lines() };
  terminal.write(`${ESC}1A${ESC}G${ESC}2K${ESC}32mnew${ESC}0m`);
  const second = { seconds: 2, lines: terminal.lines() };

  it("become a recording that writes only lines that changed, and no event where none did", () => {
    const cast = castOf([first, second, second], { columns: 10, rows: 2, title: "t" });
    const [header, ...events] = cast
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
    expect(header).toEqual({ version: 2, width: 10, height: 2, title: "t" });
    expect(events).toEqual([
      [0, "o", `${ESC}1;1H${ESC}2Ka <b>${ESC}2;1H${ESC}2Ksame`],
      [2, "o", `${ESC}1;1H${ESC}2K${ESC}32mnew${ESC}0m`],
    ]);
  });

  it("become a drawing with escaped text and the colours of the terminal", () => {
    expect(drawingOf(first, 10, "x")).toContain(">a\u00A0&lt;b></text>");
    expect(drawingOf(second, 10, "x")).toMatch(/fill="#56d364">new</);
  });
});
