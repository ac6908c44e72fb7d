import { readFileSync } from "node:fs";
import { join } from "node:path";

const text = readFileSync(join(import.meta.dirname, "..", "..", "docs", "quickstart.md"), "utf8");

/** The value file that the quickstart tells to write. */
export const QUICKSTART_VALUES = /```yaml\n# tradewind\.yaml\n([\s\S]*?)```/.exec(text)?.[1] ?? "";

/** What the quickstart pipes into kubectl. */
export const QUICKSTART_MANIFESTS = [...text.matchAll(/<<'EOF'\n([\s\S]*?)\nEOF\n/g)].map(
  ([, yaml = ""]) => yaml,
);
