/** Compiles every workspace into `dist/`, laid out like the sources, with manifests that point at the compiled files. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const root = dirname(import.meta.dirname);
const dist = join(root, "dist");
const assets =
  "{core,agent,kubernetes,predictor,exporter,local,simulator,cli}/**/*.{json,proto,html,css,svg,txt,csv}";

/** What browsers run as it is. */
const browserFiles = "exporter/serve/web/console/*.js";

rmSync(dist, { recursive: true, force: true });
execFileSync(join(root, "node_modules", ".bin", "tsc"), ["-p", "tsconfig.build.json"], {
  cwd: root,
  stdio: "inherit",
});

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { workspaces: string[] };
for (const workspace of manifest.workspaces) {
  const source = join(root, workspace, "package.json");
  const workspaceManifest = JSON.parse(readFileSync(source, "utf8")) as { exports: Record<string, string> };
  workspaceManifest.exports = { "./*.ts": "./*.js" };
  mkdirSync(join(dist, workspace), { recursive: true });
  writeFileSync(join(dist, workspace, "package.json"), JSON.stringify(workspaceManifest, null, 2));
}
for (const asset of globSync([assets, browserFiles], {
  cwd: root,
  exclude: ["**/node_modules/**", "*/package.json", "**/tsconfig.json"],
})) {
  mkdirSync(dirname(join(dist, asset)), { recursive: true });
  cpSync(join(root, asset), join(dist, asset));
}
mkdirSync(join(dist, "bin"), { recursive: true });
for (const file of ["package.json", "package-lock.json", ".npmrc", "bin/tradewind.mjs"]) {
  if (existsSync(join(root, file))) cpSync(join(root, file), join(dist, file));
}
