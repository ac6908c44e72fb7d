/**
 * Lists the licences of what the lockfile names: `npm run -s licences`, with `-- --all` those of development too. Ends with 1
 * where a package has no licence, or one that may not be shipped.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Ask for no more than the notice that every image carries in its node_modules. */
const SHIPPED = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MIT",
  "PSF-2.0",
  "Unlicense",
]);
/** Bind those who pass on changed files; tools that are used as they are and not passed on may have them. */
const DEVELOPMENT = new Set([...SHIPPED, "MPL-2.0"]);

interface Locked {
  readonly version?: string;
  readonly license?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
}

export interface Lockfile {
  readonly packages: Readonly<Record<string, Locked>>;
}

export interface Licensed {
  readonly name: string;
  readonly version: string;
  /** As the package writes it; `none` where it writes nothing. */
  readonly licence: string;
  readonly isAllowed: boolean;
}

/** Every package from the registry once, by name and version. */
export function licencesOf(lock: Lockfile, withDevelopment: boolean): Licensed[] {
  const found = Object.entries(lock.packages)
    .filter(
      ([path, { dev, link }]) =>
        path.includes("node_modules/") && link !== true && (withDevelopment || dev !== true),
    )
    .map(([path, { dev, license = "none", version = "" }]) => ({
      name: path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length),
      version,
      licence: license,
      isAllowed: isAllowed(license, dev === true ? DEVELOPMENT : SHIPPED),
    }));
  const byName = new Map(found.map((each) => [`${each.name}@${each.version}`, each]));
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Reads the SPDX expressions that are in use: names joined by AND or by OR, in parentheses or not. */
function isAllowed(expression: string, allowed: ReadonlySet<string>): boolean {
  const bare = expression.replace(/^\((.*)\)$/, "$1");
  const choices = bare.split(" OR ");
  return choices.some((choice) => choice.split(" AND ").every((name) => allowed.has(name)));
}

if (import.meta.main) {
  const lock = JSON.parse(
    readFileSync(join(import.meta.dirname, "..", "package-lock.json"), "utf8"),
  ) as Lockfile;
  const packages = licencesOf(lock, process.argv.includes("--all"));
  for (const { isAllowed: ok, licence, name, version } of packages) {
    console.log(`${ok ? " " : "!"} ${licence.padEnd(20)} ${name}@${version}`);
  }
  const refused = packages.filter((each) => !each.isAllowed);
  for (const { licence, name, version } of refused) {
    console.error(
      `licences: ${name}@${version} has the licence '${licence}', which is not in the list of bin/licences.ts`,
    );
  }
  process.exitCode = refused.length === 0 ? 0 : 1;
}
