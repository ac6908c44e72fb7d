import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

export const ROOT = dirname(dirname(import.meta.dirname));

/** How an image starts its process: flags of Node.js and settings of the allocator are part of what it costs. */
interface ImageStart {
  readonly flags: readonly string[];
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * What `docker/NAME.Dockerfile` starts, without the supervisor in front of it: compiled where `root` holds it compiled, else its source.
 * @throws Error when it starts something else than Node.js with a script
 */
export function asInImage(name: "agent" | "predictor" | "exporter", root = ROOT): ImageStart {
  const file = `docker/${name}.Dockerfile`;
  const text = readFileSync(join(ROOT, file), "utf8");
  const entry = JSON.parse(/^ENTRYPOINT (\[.+\])$/m.exec(text)?.[1] ?? "[]") as string[];
  const script = entry.at(-1);
  if (entry[0] !== "node" || script === undefined) throw new Error(`${file} has no ENTRYPOINT of Node.js`);
  const lines = text.match(/^ENV .*$/gm)?.join(" ") ?? "";
  const settings = [...lines.matchAll(/(MALLOC_\w+)=(\S+)/g)];
  const compiled = join(root, script);
  return {
    flags: entry.filter((each) => each.startsWith("--")),
    program: existsSync(compiled) ? compiled : compiled.replace(/\.js$/, ".ts"),
    env: Object.fromEntries(settings.map(([, key, value]) => [key, value])) as Record<string, string>,
  };
}
