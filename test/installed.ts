import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/**
 * Path of a program on this machine's search path or in one of the further directories, or undefined after a loud word
 * about the tests that need it.
 */
export function installed(name: string, further: readonly string[] = []): string | undefined {
  for (const directory of [...(process.env["PATH"] ?? "").split(delimiter), ...further]) {
    const path = join(directory, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      continue;
    }
  }
  process.stderr.write(`\n'${name}' is not installed: the tests that need it are SKIPPED\n`);
  return undefined;
}
