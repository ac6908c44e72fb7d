import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Path of a module next to the importing one, to start it as a process or a thread: `./replica.ts` in the sources,
 * `./replica.js` in a compiled tree.
 */
export function siblingModule(importerUrl: string, relative: string): string {
  const extension = extname(fileURLToPath(importerUrl));
  return fileURLToPath(new URL(relative.replace(/\.ts$/, extension), importerUrl));
}
