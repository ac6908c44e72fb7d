import { readFileSync } from "node:fs";
import { z } from "zod";

const manifest: unknown = JSON.parse(readFileSync(new URL("./package.json", import.meta.url), "utf8"));

/** The version of this build, from the package manifest. */
export const VERSION: string = z.object({ version: z.string() }).parse(manifest).version;
