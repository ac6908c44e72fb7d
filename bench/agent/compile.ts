import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOMS = ["core", "agent", "cli"] as const;

/**
 * Compiles the agent as an image does, so that what is measured is the process people run: the same tree of plain
 * JavaScript, without type stripping.
 * @returns the folder of the compiled tree
 */
export function compileAgent(root: string, target: string): string {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(join(target, "node_modules", "@tradewind"), { recursive: true });
  const config = join(target, "tsconfig.json");
  writeFileSync(
    config,
    JSON.stringify({
      extends: join(root, "tsconfig.build.json"),
      compilerOptions: { outDir: target, rootDir: root, noCheck: true, sourceMap: false, types: [] },
      include: [...ROOMS.map((room) => join(root, room)), join(root, "package.json")],
      exclude: ["**/node_modules"],
    }),
  );
  execFileSync(join(root, "node_modules", ".bin", "tsc"), ["-p", config], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  for (const room of ROOMS) {
    const manifest = JSON.parse(readFileSync(join(root, room, "package.json"), "utf8")) as Record<
      string,
      unknown
    >;
    manifest["exports"] = { "./*.ts": "./*.js" };
    writeFileSync(join(target, room, "package.json"), JSON.stringify(manifest));
    symlinkSync(join(target, room), join(target, "node_modules", "@tradewind", room));
  }
  for (const name of readdirSync(join(root, "node_modules"))) {
    if (name.startsWith(".") || name === "@tradewind") continue;
    symlinkSync(join(root, "node_modules", name), join(target, "node_modules", name));
  }
  cpSync(join(root, "package.json"), join(target, "package.json"));
  cpSync(join(root, "bin", "tradewind.mjs"), join(target, "bin", "tradewind.mjs"));
  return target;
}
