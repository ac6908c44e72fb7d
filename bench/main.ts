/**
 * `npm run bench` lists the benchmarks; `npm run -s bench -- NAME --json` runs one and prints one JSON object last.
 * A benchmark is a file `bench/NAME/main.ts` that exports `summary` and `run`.
 */
import { existsSync, readdirSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { describeError } from "@tradewind/core/values/errors.ts";
import { VERSION } from "@tradewind/core/process/version.ts";
import type { Benchmark } from "./benchmark.ts";

const names = readdirSync(import.meta.dirname, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && existsSync(join(import.meta.dirname, entry.name, "main.ts")))
  .map((entry) => entry.name)
  .sort();

async function load(name: string): Promise<Benchmark> {
  const module = (await import(`./${name}/main.ts`)) as { benchmark: Benchmark };
  return module.benchmark;
}

const COMMON = {
  json: { type: "boolean", default: false },
  seed: { type: "string", default: "1" },
  quick: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const;
const name = process.argv.slice(2).find((argument) => !argument.startsWith("-"));
const own = name !== undefined && names.includes(name) ? (await load(name)).options : undefined;
const { values } = parseArgs({ allowPositionals: true, options: { ...own, ...COMMON } });

if (name === undefined || values.help) {
  console.log("usage: npm run -s bench -- NAME [--json] [--seed N] [--quick]\n");
  for (const each of names) console.log(`  ${each.padEnd(12)} ${(await load(each)).summary}`);
} else if (!names.includes(name)) {
  console.error(`no benchmark '${name}'; there are: ${names.join(", ")}`);
  process.exitCode = 2;
} else {
  try {
    const seed = Number(values.seed);
    const progress = (text: string): void => console.error(text);
    const result = await (await load(name)).run({ seed, quick: values.quick, progress, values });
    const machine = {
      cpu: cpus()[0]?.model ?? "unknown",
      cores: availableParallelism(),
      node: process.version,
    };
    const report = { benchmark: name, version: VERSION, seed, quick: values.quick, machine, ...result };
    console.log(values.json ? JSON.stringify(report) : JSON.stringify(report, null, 2));
  } catch (error) {
    console.error(`bench ${name}: ${describeError(error)}`);
    process.exitCode = 1;
  }
}
