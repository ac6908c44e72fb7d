/** One place of a terminal. */
export interface Cell {
  readonly character: string;
  /** Codes of ECMA-48 SGR in force, rising, for example `1;31`; empty: none. */
  readonly style: string;
}

const BLANK: Cell = { character: " ", style: "" };
// eslint-disable-next-line no-control-regex -- what terminals are told begins with a control character
const TOKEN = /\u001B\[([?\d;]*)([A-Za-z])|\u001B[()][A-Z0-9]|[\s\S]/gu;

/** What a terminal shows of what was written to it, for the few sequences that the live picture uses. */
export class EmulatedTerminal {
  readonly columns: number;
  readonly rows: number;
  #lines: Cell[][] = [[]];
  #row = 0;
  #column = 0;
  #style = new Set<number>();

  constructor(columns: number, rows: number) {
    this.columns = columns;
    this.rows = rows;
  }

  /** @param text whole sequences only */
  write(text: string): void {
    for (const [token, numbers = "", letter] of text.matchAll(TOKEN)) {
      if (letter !== undefined) this.#sequence(numbers, letter);
      else if (token === "\n") this.#down();
      else if (token === "\r") this.#column = 0;
      else if (token >= " ") this.#put(token);
    }
  }

  /** The lines on the screen, without trailing blanks. */
  lines(): readonly (readonly Cell[])[] {
    return Array.from({ length: this.rows }, (_, row) => {
      const line = this.#lines[row] ?? [];
      const end = line.findLastIndex(({ character, style }) => character !== " " || style !== "");
      return line.slice(0, end + 1);
    });
  }

  #down(): void {
    this.#row += 1;
    if (this.#row < this.rows) return;
    this.#lines.shift();
    this.#row = this.rows - 1;
  }

  #put(character: string): void {
    if (this.#column >= this.columns) {
      this.#column = 0;
      this.#down();
    }
    const line = this.#line();
    while (line.length < this.#column) line.push(BLANK);
    line[this.#column] = { character, style: [...this.#style].sort((a, b) => a - b).join(";") };
    this.#column += 1;
  }

  #line(): Cell[] {
    this.#lines[this.#row] ??= [];
    while (this.#lines.length <= this.#row) this.#lines.push([]);
    return (this.#lines[this.#row] ??= []);
  }

  #sequence(numbers: string, letter: string): void {
    const count = Math.max(1, Number(numbers) || 1);
    if (letter === "A") this.#row = Math.max(0, this.#row - count);
    else if (letter === "B") this.#row = Math.min(this.rows - 1, this.#row + count);
    else if (letter === "C") this.#column += count;
    else if (letter === "D") this.#column = Math.max(0, this.#column - count);
    else if (letter === "G") this.#column = count - 1;
    else if (letter === "K") this.#line().splice(numbers === "2" ? 0 : this.#column);
    else if (letter === "J") {
      this.#line().splice(this.#column);
      this.#lines.splice(this.#row + 1);
    } else if (letter === "m") this.#restyle(numbers);
  }

  /** Bold, dim and the colours; each is ended by a code of its own. */
  #restyle(numbers: string): void {
    for (const code of numbers.split(";").map(Number)) {
      if (code === 0) this.#style.clear();
      else if (code === 22) this.#style = new Set([...this.#style].filter((each) => each > 2));
      else if (code === 39) this.#style = new Set([...this.#style].filter((each) => each < 30));
      else if (code <= 2 || (code >= 30 && code < 38)) this.#style.add(code);
    }
  }
}
