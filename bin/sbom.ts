/**
 * Writes the bill of materials of what is shipped, as CycloneDX JSON, from the lockfile: `npm run -s sbom > sbom.cdx.json`; with
 * `-- --workspace=predictor` of one process.
 *
 * `npm sbom --omit=dev` is not used: it leaves out every package that the root names for its tests too, zod and undici among them.
 */
import { npmOutput } from "./npm.ts";

interface Component {
  readonly "bom-ref": string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

interface Bom {
  readonly metadata: { readonly component: Readonly<Record<string, unknown>> };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
}

const isForDevelopment = ({ properties }: Component): boolean =>
  properties?.some(({ name, value }) => name === "cdx:npm:package:development" && value === "true") === true;

/** Leaves out what only development uses, and calls the whole by its name rather than by that of the folder. */
export function shippedBom(bom: Bom): Bom {
  const dropped = new Set(bom.components.filter(isForDevelopment).map((each) => each["bom-ref"]));
  return {
    ...bom,
    metadata: { ...bom.metadata, component: { ...bom.metadata.component, name: "tradewind" } },
    components: bom.components.filter((each) => !dropped.has(each["bom-ref"])),
    dependencies: bom.dependencies
      .filter(({ ref }) => !dropped.has(ref))
      .map(({ dependsOn = [], ref }) => ({ ref, dependsOn: dependsOn.filter((each) => !dropped.has(each)) })),
  };
}

if (import.meta.main) {
  const args = ["sbom", "--sbom-format=cyclonedx", "--package-lock-only", ...process.argv.slice(2)];
  console.log(JSON.stringify(shippedBom(JSON.parse(npmOutput(args)) as Bom), null, 2));
}
