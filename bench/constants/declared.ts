import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A number that the source states by name: a constant of a module, a number in a list of those, or a default of a setting. */
export interface Declared {
  /** From the root of the repository. */
  readonly file: string;
  readonly name: string;
  /** Place in the list; empty for a number by itself. */
  readonly path: readonly number[];
  readonly value: number;
}

const ROOT = join(import.meta.dirname, "../..");
/** What decides, and the models that it decides by. */
const FOLDERS = ["predictor/decide/cost", "predictor/models"];
export const SETTINGS_FILE = "predictor/decide/facts/cost-settings.ts";

const CONSTANT = /^(?:export )?const ([A-Z][A-Z0-9_]*)(?:: [^=]+)? = ([^;]*);$/gm;
const SETTING = /^ {2}(\w+): z\.number\(\).*\.default\(([\d._]+)\)/gm;
/** Numbers, their sums and products, logarithms and lists of them; nothing that is worked out from other names. */
const NUMERIC = /^(?:[-\d._,+*/()[\]\s]|e-?\d|Math\.log(?=\())+$/;

/** The same with `as const` and comments left out; undefined where it is no number or list of numbers. */
function valueOf(expression: string): unknown {
  const text = expression.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "").replace(/ as const$/, "");
  if (!/\d/.test(text) || !NUMERIC.test(text)) return undefined;
  // Only digits, operators and Math.log get here.
  // eslint-disable-next-line typescript/no-implied-eval, no-new-func
  return (new Function(`return (${text});`) as () => unknown)();
}

function numbersOf(
  value: unknown,
  path: readonly number[] = [],
): { path: readonly number[]; value: number }[] {
  if (typeof value === "number") return [{ path, value }];
  if (!Array.isArray(value)) return [];
  return value.flatMap((each, at) => numbersOf(each, [...path, at]));
}

/** Numbers that one source file declares, in its order. */
export function declaredIn(file: string, source: string): Declared[] {
  if (file === SETTINGS_FILE)
    return [...source.matchAll(SETTING)].map(([, name = "", value = ""]) => ({
      file,
      name,
      path: [],
      value: Number(value.replaceAll("_", "")),
    }));
  return [...source.matchAll(CONSTANT)].flatMap(([, name = "", expression = ""]) =>
    numbersOf(valueOf(expression)).map(({ path, value }) => ({ file, name, path, value })),
  );
}

/** All numbers that decisions by cost depend on, by file. */
export function declaredNumbers(): Declared[] {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => `${folder}/${name}`)
      .sort(),
  );
  return [SETTINGS_FILE, ...files].flatMap((file) =>
    declaredIn(file, readFileSync(join(ROOT, file), "utf8")),
  );
}

/** A number, times a factor. */
export interface Change extends Omit<Declared, "value"> {
  readonly factor: number;
}

/** The source with the number changed. @throws RangeError where it does not declare it */
export function withChange(source: string, { factor, file, name, path }: Change): string {
  const isSetting = file === SETTINGS_FILE;
  let isFound = false;
  const changed = source.replaceAll(isSetting ? SETTING : CONSTANT, (text: string, found: string) => {
    if (found !== name) return text;
    isFound = true;
    if (isSetting) return text.replace(/default\(([\d._]+)\)/, `default($1 * ${factor})`);
    if (path.length > 0) return `${text}\n${name}${path.map((at) => `[${at}]`).join("")} *= ${factor};`;
    return text.replace(/ = ([^;]*);$/, (_, expression: string) => ` = (${expression}) * ${factor};`);
  });
  if (!isFound) throw new RangeError(`${file} declares no ${name}`);
  return changed;
}
