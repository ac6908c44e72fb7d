import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

export const ROOT = dirname(import.meta.dirname);

/** How an image starts its process: flags of Node.js and settings of the allocator are part of what it costs. */
export interface ImageStart {
  readonly flags: readonly string[];
  /** Path below the root, as compiled. */
  readonly script: string;
  readonly env: Readonly<Record<string, string>>;
}

/** What `docker/NAME.Dockerfile` starts, without the supervisor in front of it. @throws Error when it starts something else than Node.js with a script */
export function asInImage(name: "agent" | "predictor" | "exporter"): ImageStart {
  const file = `docker/${name}.Dockerfile`;
  const text = readFileSync(join(ROOT, file), "utf8");
  const entry = JSON.parse(/^ENTRYPOINT (\[.+\])$/m.exec(text)?.[1] ?? "[]") as string[];
  const script = entry.at(-1);
  if (entry[0] !== "node" || script === undefined) throw new Error(`${file} has no ENTRYPOINT of Node.js`);
  const lines = text.match(/^ENV .*$/gm)?.join(" ") ?? "";
  const settings = [...lines.matchAll(/(MALLOC_\w+)=(\S+)/g)];
  return {
    flags: entry.filter((each) => each.startsWith("--")),
    script,
    env: Object.fromEntries(settings.map(([, key, value]) => [key, value])) as Record<string, string>,
  };
}
