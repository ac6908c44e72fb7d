import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** A file as a browser gets it. */
export interface Asset {
  readonly body: Buffer;
  readonly type: string;
  /** Entity tag, quotes included. */
  readonly tag: string;
}

/** The console: its page, the policy under which a browser may run it, and all files by their paths. */
export interface WebConsole {
  readonly page: Asset;
  readonly contentSecurityPolicy: string;
  readonly files: ReadonlyMap<string, Asset>;
}

/** Where browsers find files, below the page. */
export const FILES = "ui/";

/** Modules of npm packages by the name that the console imports them by; each is one file without imports of others. */
const MODULES = {
  preact: "preact",
  "preact/hooks": "preact/hooks",
  uplot: "uplot/dist/uPlot.esm.js",
  "@dagrejs/dagre": "@dagrejs/dagre/package.json!dist/dagre.esm.js",
} as const;
const STYLES = { "uplot.css": "uplot/dist/uPlot.min.css" } as const;

const TYPES: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/**
 * Reads the console. A browser runs only files of ours and of these npm packages, and asks nobody but its origin; the one part that
 * stands in the page itself, which says where modules are, is named by its hash.
 */
export function loadConsole(): WebConsole {
  const folder = new URL("./console/", import.meta.url);
  const files = new Map<string, Asset>();
  for (const name of readdirSync(folder)) {
    const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
    if (type !== undefined) files.set(name, assetOf(readFileSync(new URL(name, folder)), type));
  }
  const own = [...files.keys()].filter((name) => name.endsWith(".js"));
  const imports: Record<string, string> = {};
  const find = createRequire(import.meta.url);
  for (const [name, from] of Object.entries(MODULES)) {
    const file = `lib-${name.replaceAll(/[@/]/g, "-")}.js`;
    files.set(file, assetOf(readFileSync(pathOf(from, find)), TYPES["js"] ?? ""));
    imports[name] = `./${FILES}${file}`;
  }
  for (const [file, from] of Object.entries(STYLES))
    files.set(file, assetOf(readFileSync(find.resolve(from)), TYPES["css"] ?? ""));
  const map = JSON.stringify({ imports });
  const preloads = own.map((name) => `<link rel="modulepreload" href="${FILES}${name}" />`).join("\n    ");
  const html = readFileSync(new URL("index.html", folder), "utf8").replace(
    "<!-- modules -->",
    () => `<script type="importmap">${map}</script>\n    ${preloads}`,
  );
  return {
    page: assetOf(Buffer.from(html), "text/html; charset=utf-8"),
    contentSecurityPolicy: policy(map),
    files,
  };
}

/** `PACKAGE/package.json!FILE` names a file that the package does not export by itself. */
function pathOf(from: string, find: NodeJS.Require): string {
  const [target = "", file] = from.split("!");
  const resolved = find.resolve(target);
  return file === undefined ? resolved : join(dirname(resolved), file);
}

const assetOf = (body: Buffer, type: string): Asset => ({
  body,
  type,
  tag: `"${createHash("sha256").update(body).digest("hex").slice(0, 16)}"`,
});

const policy = (importMap: string): string =>
  [
    "default-src 'none'",
    `script-src 'self' 'sha256-${createHash("sha256").update(importMap).digest("base64")}'`,
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
