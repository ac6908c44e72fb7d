import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { runningExporter } from "../../running-exporter.ts";
import { planOf, wishOf } from "../../wish.ts";
import { openBrowser, violations, whyNoBrowser } from "./browser.ts";

const TOKEN = "s3cret-s3cret-s3cret";
const APPLICATION =
  "{name: hotel, namespace: shop, mode: act, entry: search, objective: {milliseconds: 200}, approval: {replicasRatio: 0.3}}";

describe.skipIf(whyNoBrowser !== undefined)("approving in the browser", { timeout: 60_000 }, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  }, 30_000);
  afterAll(async () => browser?.close());

  /** A scaler that holds 3 → 5 replicas of `search`, and the page that shows it. */
  async function waiting() {
    const directory = await mkdtemp(join(tmpdir(), "tradewind-approve-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const [application, httpTokenFile] = [join(directory, "app.yaml"), join(directory, "token")];
    await writeFile(httpTokenFile, TOKEN);
    await writeFile(application, APPLICATION);
    const exporter = await runningExporter(undefined, { application, httpTokenFile, state: directory });
    exporter.predictor.serve(planOf([wishOf({ allocation: { replicas: 5 } })]));
    const ref = { name: "so", namespace: "shop", metadata: { service: "search" } };
    const replicas = async (): Promise<unknown> => exporter.client.metrics(ref, "m");
    const context = await browser.newContext({ httpCredentials: { username: "any", password: TOKEN } });
    onTestFinished(async () => context.close());
    const page = await context.newPage();
    await page.goto(`${exporter.http}/#/plans`);
    await page.getByText("replicas 3 → 5 (+67 %)").waitFor({ timeout: 20_000 });
    return { exporter, page, replicas };
  }
  const sign = async (page: Page, token: string): Promise<void> => {
    await page.getByLabel("Note").fill("ann");
    await page.getByLabel("Token").fill(token);
  };

  it("serves the new number to KEDA once a person with the token has clicked Approve", async () => {
    const { exporter, page, replicas } = await waiting();
    expect(await violations(page)).toEqual([]);
    expect(await replicas()).toMatchObject([{ int: 3 }]);
    await sign(page, TOKEN);
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("button", { name: "Approve" }).waitFor({ state: "detached" });
    exporter.predictor.serve(planOf([wishOf({ allocation: { replicas: 5 } })], { sequence: 2 }));
    await expect.poll(replicas, { timeout: 20_000 }).toMatchObject([{ int: 5 }]);
    await page.getByText("1 decided or expired").click();
    const row = page.locator("tr", { hasText: "search" });
    await expect
      .poll(async () => row.innerText(), { timeout: 20_000 })
      .toMatch(/3 → 5\s+executed\s+default \(ann\)/);
    expect(await violations(page)).toEqual([]);
  });

  it("leaves the number as it was once a person has clicked Refuse", async () => {
    const { exporter, page, replicas } = await waiting();
    await sign(page, TOKEN);
    await page.getByRole("button", { name: "Refuse" }).click();
    await page.getByText("1 decided or expired").waitFor({ timeout: 20_000 });
    exporter.predictor.serve(planOf([wishOf({ allocation: { replicas: 5 } })], { sequence: 2 }));
    await page.getByText("1 decided or expired").click();
    expect(await page.locator("tr", { hasText: "search" }).innerText()).toMatch(
      /3 → 5\s+refused\s+default \(ann\)/,
    );
    expect(await replicas()).toMatchObject([{ int: 3 }]);
  });

  it("says what is missing without a token, and that a wrong token is not taken, and decides nothing", async () => {
    const { page, replicas } = await waiting();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("Give a token that may approve first.").waitFor();
    await sign(page, "not-the-token-0123456789");
    await page.getByRole("button", { name: "Approve" }).click();
    const words = page.locator("span.bad[role=status]");
    await expect.poll(async () => words.innerText(), { timeout: 10_000 }).toMatch(/^(?!Give a token).*token/);
    expect(await replicas()).toMatchObject([{ int: 3 }]);
    expect(await page.getByRole("button", { name: "Approve" }).count()).toBe(1);
  });
});
