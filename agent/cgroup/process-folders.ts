import { readdirSync } from "node:fs";

const MOST_BELOW = 16;

/**
 * Where the processes of a container are listed: in its own cgroup, or in one directly below it. crun puts them into
 * `ID.scope/container` on cgroup v2, systemd in a container into `init.scope`; the container's own then has none.
 */
export function* processFolders(directory: string): Generator<string> {
  yield directory;
  for (const name of namesBelow(directory)) yield `${directory}/${name}`;
}

/** None where the cgroup is gone. */
function namesBelow(directory: string): string[] {
  try {
    const entries = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return entries.slice(0, MOST_BELOW).map(({ name }) => name);
  } catch {
    return [];
  }
}
