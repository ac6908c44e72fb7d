import { existsSync } from "node:fs";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { chromium } from "playwright-core";

const EXECUTABLE = "/usr/bin/chromium";

/** Why no browser can be driven here; undefined where one can. */
export const whyNoBrowser = existsSync(EXECUTABLE)
  ? undefined
  : `there is no ${EXECUTABLE}; install it with 'apt-get install chromium'`;

export const openBrowser = async (): Promise<Browser> =>
  chromium.launch({ executablePath: EXECUTABLE, args: ["--no-sandbox"] });

/** What axe finds wrong with a page as it is, one line each. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    interface Found {
      readonly violations: readonly {
        readonly id: string;
        readonly nodes: readonly { readonly html: string }[];
      }[];
    }
    const { axe: inPage } = globalThis as unknown as { axe: { run: () => Promise<Found> } };
    const found = await inPage.run();
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ""}`);
  });
}
