import { parseArgs } from "node:util";
import { CONTENDERS } from "./application.ts";
import type { Contender, JudgedApplication } from "./application.ts";
import { APPLICATIONS } from "./catalogue.ts";

export interface Asked {
  readonly applications: readonly JudgedApplication[];
  readonly contenders: readonly Contender[];
  /** Of each contender with each application; undefined: what the application has. */
  readonly runs: number | undefined;
  readonly json: boolean;
}

/** Reads the words after `npm run cluster -- applications`. @throws Error that says what is wrong with them */
export function readOptions(words: readonly string[]): Asked {
  const { values } = parseArgs({
    args: [...words],
    options: {
      only: { type: "string" },
      contender: { type: "string" },
      runs: { type: "string" },
      json: { type: "boolean", default: false },
    },
  });
  const names = APPLICATIONS.map(({ name }) => name);
  return {
    applications: APPLICATIONS.filter(({ name }) => name === chosen("--only", values.only, names, name)),
    contenders: CONTENDERS.filter(
      (each) => each === chosen("--contender", values.contender, CONTENDERS, each),
    ),
    runs: values.runs === undefined ? undefined : wholeNumber("--runs", values.runs),
    json: values.json,
  };
}

function chosen(flag: string, value: string | undefined, known: readonly string[], other: string): string {
  if (value === undefined) return other;
  if (known.includes(value)) return value;
  throw new Error(`${flag} is one of ${known.join(", ")}, not '${value}'`);
}

function wholeNumber(flag: string, text: string): number {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text);
  throw new Error(`${flag} is a number from 1 to 999, not '${text}'`);
}
