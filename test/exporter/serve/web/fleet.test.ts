import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { runningExporter } from "../../running-exporter.ts";
import { planning } from "../../several-applications.ts";
import { openBrowser, violations, whyNoBrowser } from "./browser.ts";

/** Of the same services each; the one by the last letter is the worst. */
const APPLICATIONS = [
  { name: "bank", latencySeconds: 0.12, frontendReplicas: 2 },
  { name: "news", latencySeconds: 0.19, frontendReplicas: 3 },
  { name: "shop", latencySeconds: 0.3, frontendReplicas: 5 },
];

describe.skipIf(whyNoBrowser !== undefined)(
  "several applications in the browser",
  { timeout: 60_000 },
  () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await openBrowser();
    }, 30_000);
    afterAll(async () => browser?.close());

    async function opened(
      width = 1_400,
      colorScheme: "light" | "dark" = "light",
    ): Promise<{ page: Page; http: string }> {
      const exporter = await runningExporter(undefined);
      exporter.predictor.behave(planning(APPLICATIONS));
      const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
      onTestFinished(async () => context.close());
      const page = await context.newPage();
      await page.goto(exporter.http);
      await page.getByRole("row", { name: /shop\/shop missed/ }).waitFor({ timeout: 20_000 });
      await page.getByText("overspent 700 %").waitFor({ timeout: 20_000 });
      return { page, http: exporter.http };
    }

    it("opens on all of them, the worst first, each line with its own numbers", async () => {
      const { page } = await opened();
      await page.getByText("1 of 3 applications misses the objective").waitFor();
      const rows = await page.locator(".fleet tbody tr").allInnerTexts();
      expect(rows.map((text) => text.replaceAll(/\s+/g, " "))).toEqual([
        expect.stringMatching(
          /^shop\/shop missed 150 % p95 200 ms overspent 700 % 6 → 9 0.100 → 0.120 act – \d\d:\d\d:\d\d shop\/frontend replicas 2 → 5$/,
        ),
        expect.stringMatching(
          /^news\/news met 95 % p95 200 ms 80 % 6 → 7 0.100 → 0.120 act – \d\d:\d\d:\d\d news\/frontend replicas 2 → 3$/,
        ),
        expect.stringMatching(/^bank\/bank met 60 % p95 200 ms 80 % 6 0.100 → 0.120 act – none yet$/),
      ]);
    });

    it("opens a view on the application that misses, where the link names none", async () => {
      const { http, page } = await opened();
      await page.goto(`${http}/#/overview`);
      await page.reload();
      await page.locator(".banner .verdict", { hasText: "Objective missed" }).waitFor();
      expect(await page.locator("header select").inputValue()).toBe("shop/shop");
    });

    it("shows under each application its own events only, by their full names", async () => {
      const { page } = await opened();
      for (const [name, changes] of [
        ["shop", ["shop/frontend replicas 2 → 5"]],
        ["news", ["news/frontend replicas 2 → 3"]],
        ["bank", []],
      ] as const) {
        await page.getByRole("link", { name: "Fleet" }).click();
        await page.getByRole("link", { name: `${name}/${name}` }).click();
        await page.getByRole("heading", { name: "What was done last" }).waitFor();
        await page.getByRole("link", { name: "Timeline" }).click();
        await page.getByText(`${changes.length} of ${changes.length}`, { exact: true }).waitFor();
        const entries = await page.locator(".timeline .entry").allInnerTexts();
        const found = entries.map(
          (text) => /\S+\/\S+ replicas \d → \d/.exec(text.replaceAll(/\s+/g, " "))?.[0],
        );
        expect(found).toEqual(changes);
      }
    });

    it("opens the decisions behind a mark on the time axis, whose crosshair says the values of each panel", async () => {
      const { page } = await opened();
      await page.getByRole("link", { name: "shop/shop" }).click();
      await page.getByRole("button", { name: /^Show \d\d:\d\d:\d\d: 1 event/ }).click();
      await page.locator(".opened", { hasText: "shop/frontend replicas 2 → 5" }).waitFor();
      const panels = await page.locator(".panel > p").allInnerTexts();
      expect(panels).toEqual(
        [
          "Latency / objective 150 %",
          "Requests/s 40",
          "Replicas ready 6, recommended 9",
          "CPU cores used 1.5, given 3",
          "Cost/h running 0.1, recommended 0.12",
        ].map((text) => text.replace("0.1,", "0.100,").replace("0.12", "0.120")),
      );
      await page
        .locator(".panel .u-over")
        .first()
        .hover({ position: { x: 5, y: 20 } });
      await page.getByText(/· p95 300 ms of 200 ms · 40.0 % of the requests over/).waitFor();
    });

    it.each([
      [1_400, "light"],
      [500, "dark"],
    ] as const)("is clean under axe and fits %i pixels in %s", async (width, scheme) => {
      const { page } = await opened(width, scheme);
      for (const link of ["Fleet", "shop/shop"]) {
        await page.getByRole("link", { name: link }).click();
        await page.waitForSelector(link === "Fleet" ? ".fleet .spark" : ".course canvas");
        expect([link, await violations(page)]).toEqual([link, []]);
        expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
      }
    });
  },
);
