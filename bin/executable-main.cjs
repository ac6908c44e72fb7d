// What the single executable runs first: unpacks the program once into the user's cache, and goes on there.
const {
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} = require("node:fs");
const { createRequire } = require("node:module");
const { homedir, platform } = require("node:os");
const path = require("node:path");
const { getAsset, getRawAsset } = require("node:sea");
const { pathToFileURL } = require("node:url");
const { zstdDecompressSync } = require("node:zlib");

/** @param {string} hash of the program, so that no version runs the files of another */
function cacheOf(hash) {
  const caches =
    process.env.XDG_CACHE_HOME ||
    (platform() === "darwin" ? path.join(homedir(), "Library", "Caches") : path.join(homedir(), ".cache"));
  return path.join(caches, "tradewind", hash);
}

/**
 * Writes the files of the program: an index in one line of JSON, then all files one behind the other.
 * @param {string} folder
 */
function unpack(folder) {
  const whole = zstdDecompressSync(Buffer.from(getRawAsset("program")));
  const end = whole.indexOf(10);
  const { files, workspaces } =
    /** @type {{ files: [name: string, length: number][], workspaces: string[] }} */ (
      JSON.parse(whole.subarray(0, end).toString("utf8"))
    );
  let at = end + 1;
  for (const [name, length] of files) {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, whole.subarray(at, at + length));
    at += length;
  }
  const packages = path.join(folder, "node_modules", "@tradewind");
  mkdirSync(packages, { recursive: true });
  for (const name of workspaces) symlinkSync(path.join("..", "..", name), path.join(packages, name));
  // A file of its own, since what is built into the executable can import nothing from disk.
  writeFileSync(path.join(folder, STARTER), "module.exports = (url) => import(url);\n");
}

const STARTER = "start.cjs";

function unpacked() {
  const root = cacheOf(getAsset("hash", "utf8"));
  if (existsSync(root)) return root;
  mkdirSync(path.dirname(root), { recursive: true, mode: 0o700 });
  // Beside it and then renamed: two that start at once never see half of it.
  const fresh = mkdtempSync(`${root}-`);
  unpack(fresh);
  try {
    renameSync(fresh, root);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    if (!existsSync(root)) throw error;
  }
  return root;
}

const words = process.argv.slice(2);
if (words.length === 1 && (words[0] === "--version" || words[0] === "-V")) {
  console.log(getAsset("version", "utf8"));
} else {
  const root = unpacked();
  const [first = ""] = words;
  // Processes of ours are started as `node SCRIPT …`, and node is this file.
  const isScript = first.startsWith(root) && existsSync(first);
  const isPlugin = !isScript && path.basename(process.argv0).startsWith("kubectl");
  const script = isScript ? first : path.join(root, "cli", "main.js");
  process.argv = [
    process.execPath,
    script,
    ...(isPlugin ? ["kubectl"] : []),
    ...words.slice(isScript ? 1 : 0),
  ];
  const load = /** @type {(url: string) => Promise<unknown>} */ (
    createRequire(path.join(root, STARTER))(`./${STARTER}`)
  );
  load(pathToFileURL(script).href).catch((/** @type {unknown} */ error) => {
    console.error("tradewind:", error);
    process.exitCode = 1;
  });
}
