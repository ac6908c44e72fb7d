/**
 * Makes one file of Node.js and the whole program that needs nothing else: `npm run executable -- --output release`. For the platform
 * that this runs on. The file unpacks the program into the user's cache when it is first started.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { arch, platform, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { constants, zstdCompressSync } from "node:zlib";

const root = dirname(import.meta.dirname);
const dist = join(root, "dist");
const { values } = parseArgs({ options: { output: { type: "string", default: "release" } } });
const { version, workspaces } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly version: string;
  readonly workspaces: readonly string[];
};

/** Of packages: what is run, and the licences that go with it. */
const UNUSED = /\.(?:d\.[cm]?ts|map|md|markdown|flow|tsbuildinfo)$|\/(?:test|tests|docs|\.github)\//;

/** The files of the program in one: an index in one line of JSON, then all files one behind the other. */
function archive(): Buffer {
  const paths = globSync("**/*", { cwd: dist, withFileTypes: false })
    .filter((path) => !path.startsWith(join("node_modules", "@tradewind")))
    .filter((path) => !UNUSED.test(path) || /licen[cs]e|notice/i.test(path))
    .sort();
  const files: [string, number][] = [];
  const parts: Buffer[] = [];
  for (const path of paths) {
    let bytes: Buffer;
    try {
      bytes = readFileSync(join(dist, path));
    } catch (error) {
      if ((error as { code?: unknown }).code === "EISDIR") continue;
      throw error;
    }
    files.push([path, bytes.length]);
    parts.push(bytes);
  }
  return Buffer.concat([Buffer.from(`${JSON.stringify({ files, workspaces })}\n`), ...parts]);
}

execFileSync(process.execPath, [join(root, "bin", "build.ts")], { stdio: "inherit" });
execFileSync("npm", ["ci", "--omit=dev", "--ignore-scripts", "--no-audit"], { cwd: dist, stdio: "inherit" });

const folder = mkdtempSync(join(tmpdir(), "tradewind-executable-"));
try {
  const program = archive();
  const file = (name: string, content: string | Buffer): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const level = { params: { [constants.ZSTD_c_compressionLevel]: 19 } };
  const config = {
    main: join(root, "bin", "executable-main.cjs"),
    output: join(folder, "blob"),
    disableExperimentalSEAWarning: true,
    assets: {
      program: file("program", zstdCompressSync(program, level)),
      hash: file("hash", `${version}-${createHash("sha256").update(program).digest("hex").slice(0, 16)}`),
      version: file("version", version),
    },
  };
  execFileSync(process.execPath, ["--experimental-sea-config", file("config.json", JSON.stringify(config))], {
    stdio: "inherit",
  });
  const output = resolve(values.output, `tradewind-${platform()}-${arch()}`);
  mkdirSync(dirname(output), { recursive: true });
  copyFileSync(process.execPath, output);
  chmodSync(output, 0o755);
  const isMac = platform() === "darwin";
  if (isMac) execFileSync("codesign", ["--remove-signature", output]);
  const postject = createRequire(import.meta.url).resolve("postject/dist/cli.js");
  execFileSync(
    process.execPath,
    [
      postject,
      output,
      "NODE_SEA_BLOB",
      config.output,
      "--sentinel-fuse",
      "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2",
      ...(isMac ? ["--macho-segment-name", "NODE_SEA"] : []),
    ],
    { stdio: "inherit" },
  );
  if (isMac) execFileSync("codesign", ["--sign", "-", output]);
  process.stdout.write(`${output}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
