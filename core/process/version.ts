import { readFileSync } from "node:fs";

const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

/** The version of this build, from the package manifest. No schema: this is loaded by processes that count their megabytes. */
export const VERSION: string = versionOf(manifest);

function versionOf(value: unknown): string {
  if (
    typeof value === "object" &&
    value !== null &&
    "version" in value &&
    typeof value.version === "string"
  ) {
    return value.version;
  }
  throw new TypeError("core/package.json has no version");
}
