import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** The web page and the policy under which a browser may run it. */
export interface Page {
  readonly html: string;
  readonly contentSecurityPolicy: string;
}

/** Reads the page. Only its own script and style, named by their hashes, may run; it may ask nobody but its origin. */
export function loadPage(): Page {
  const html = readFileSync(new URL("./page.html", import.meta.url), "utf8");
  const contentSecurityPolicy = [
    "default-src 'none'",
    `script-src ${hashes(html, "script")}`,
    `style-src ${hashes(html, "style")}`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
  return { html, contentSecurityPolicy };
}

function hashes(html: string, tag: "script" | "style"): string {
  const blocks = [...html.matchAll(new RegExp(`<${tag}[^>]*>([\\s\\S]*?)</${tag}>`, "g"))];
  return blocks
    .map(([, text = ""]) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`)
    .join(" ");
}
