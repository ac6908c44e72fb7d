import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { answered, keptPlaces, planned, tokenOf } from "../../decide/override/overriding.ts";
import { answering } from "../../fake-predictor.ts";
import { runningExporter } from "../../running-exporter.ts";
import { openBrowser, violations, whyNoBrowser } from "./browser.ts";

describe.skipIf(whyNoBrowser !== undefined)("overriding in the browser", { timeout: 60_000 }, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  }, 30_000);
  afterAll(async () => browser?.close());

  async function opened(path: string) {
    const exporter = await runningExporter(undefined, keptPlaces());
    const plan = answering(JSON.stringify(planned(5)));
    const nothing = answering("{}", 503);
    exporter.predictor.behave((request, response) => {
      const isPlan = request.url?.startsWith("/v1/plan") === true;
      (isPlan ? plan : nothing)(request, response);
    });
    await expect.poll(async () => answered(exporter.client, "search"), { timeout: 20_000 }).toBe(5);
    const context = await browser.newContext({
      httpCredentials: { username: "any", password: tokenOf("scrape") },
    });
    onTestFinished(async () => context.close());
    const page = await context.newPage();
    await page.goto(`${exporter.http}/#/${path}`);
    await page.getByRole("button", { name: "Pause", exact: true }).waitFor({ timeout: 20_000 });
    return { page, search: async () => answered(exporter.client, "search") };
  }

  it("holds a service at a number from its dialog, shows who, and releases it from the overview", async () => {
    const { page, search } = await opened("services/shop/search");
    await page.getByLabel("Reason").fill("load test");
    await page.getByRole("spinbutton", { name: "Replicas" }).fill("8");
    await page.getByLabel("Token").fill(tokenOf("ann"));
    await page.getByRole("button", { name: "Hold" }).click();
    await page.getByText(/search held \(8 replicas\) by ann until \d\d:\d\d UTC: load test/).waitFor();
    await expect.poll(search, { timeout: 5_000 }).toBe(8);
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Close" }).click();
    await page.locator(".chip", { hasText: "held" }).waitFor();
    await page.getByRole("link", { name: "Overview" }).click();
    const banner = page.locator(".notice", { hasText: "held (8 replicas) by ann until" });
    await banner.waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Release search" }).click();
    await banner.waitFor({ state: "detached" });
    await expect.poll(search, { timeout: 5_000 }).toBe(5);
  });

  it("pauses an application from the overview, and says why it does not without reason, token or right", async () => {
    const { page, search } = await opened("overview");
    const pause = page.getByRole("button", { name: "Pause", exact: true });
    await pause.click();
    await page.getByText("Give a token with the scope override first.").waitFor();
    await page.getByLabel("Token").fill(tokenOf("scrape"));
    await pause.click();
    await page.getByText("Say why first.").waitFor();
    await page.getByLabel("Reason").fill("network change");
    await pause.click();
    await page.getByText(/lacks the scope/).waitFor();
    expect(await search()).toBe(5);
    await page.getByLabel("Token").fill(tokenOf("ann"));
    await pause.click();
    await expect.poll(search, { timeout: 5_000 }).toBe(3);
    await page.getByText(/hotel paused by ann until \d\d:\d\d UTC: network change/).waitFor();
  });
});
