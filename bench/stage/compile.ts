import { execFileSync } from "node:child_process";
import {
  cpSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

/** What the image of a process holds beside its own workspace. */
const SHARED = { agent: ["core", "cli"], exporter: ["core", "kubernetes", "cli"] } as const;
/** Read while it runs, as bin/build.ts copies them. */
const ASSETS = "**/*.{json,proto,html,css,svg,txt,csv}";

/**
 * Compiles a process as its image does, so that what is measured is the process people run: the same tree of plain
 * JavaScript, without type stripping.
 * @returns the folder of the compiled tree
 */
export function compileImage(name: keyof typeof SHARED, root: string, target: string): string {
  const rooms = [...SHARED[name], name];
  rmSync(target, { recursive: true, force: true });
  mkdirSync(join(target, "node_modules", "@tradewind"), { recursive: true });
  const config = join(target, "tsconfig.json");
  writeFileSync(
    config,
    JSON.stringify({
      extends: join(root, "tsconfig.build.json"),
      compilerOptions: { outDir: target, rootDir: root, noCheck: true, sourceMap: false, types: [] },
      include: [...rooms.map((room) => join(root, room)), join(root, "package.json")],
      exclude: ["**/node_modules"],
    }),
  );
  execFileSync(join(root, "node_modules", ".bin", "tsc"), ["-p", config], {
    cwd: root,
    stdio: ["ignore", 2, 2],
  });
  for (const room of rooms) {
    for (const asset of globSync([ASSETS, "serve/web/console/*.js"], {
      cwd: join(root, room),
      exclude: ["node_modules/**"],
    })) {
      cpSync(join(root, room, asset), join(target, room, asset));
    }
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
