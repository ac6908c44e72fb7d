import type { Measured } from "@tradewind/core/contract/measured.ts";
import { PeriodReport } from "@tradewind/core/contract/period-report.ts";
import type { PatternList } from "@tradewind/core/contract/pattern.ts";
import type { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { ShadowWeek } from "@tradewind/core/contract/shadow.ts";
import type { WhatIfAnswer } from "@tradewind/core/contract/what-if.ts";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitUntil } from "../../../wait-until.ts";
import { openBrowser, violations, whyNoBrowser } from "./browser.ts";
import { Scene } from "./scene.ts";

if (whyNoBrowser !== undefined) process.stderr.write(`SKIPPED: the console in a browser: ${whyNoBrowser}\n`);

/** A view, and what shows that it has its data. */
const VIEWS = [
  ["overview", ".chart canvas"],
  ["services", ".grid .line"],
  ["routes", "table tbody td"],
  ["map", ".map .box"],
  ["timeline", ".timeline .entry, .card p"],
  ["what-if", ".routes li"],
  ["incident", ".notice"],
  ["plans", "table"],
  ["backtest", "pre"],
] as const;

const LOOKS = [
  [1_400, "light"],
  [1_400, "dark"],
  [500, "light"],
  [500, "dark"],
] as const;

describe.skipIf(whyNoBrowser !== undefined)("the console in a browser", () => {
  let scene: Scene;
  let browser: Browser;
  const complaints: string[] = [];

  const opened = async (width: number, colorScheme: "light" | "dark"): Promise<Page> => {
    const page = await (
      await browser.newContext({ viewport: { width, height: 900 }, colorScheme })
    ).newPage();
    page.on("pageerror", ({ message }) => complaints.push(message));
    page.on("console", (message) => {
      // A browser notes each answer that is a refusal, as that of a scaler without a backtest is.
      const isNote = message.text().startsWith("Failed to load resource");
      if (message.type() === "error" && !isNote) complaints.push(message.text());
    });
    return page;
  };

  beforeAll(async () => {
    [scene, browser] = await Promise.all([Scene.open(), openBrowser()]);
    await waitUntil(async () => {
      const { services = [] } = await scene.json<Partial<Measured>>("/v1/measured");
      return services.some(({ tailShare }) => tailShare !== undefined);
    }, 25_000);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await scene?.close();
  });

  it.each(LOOKS)(
    "shows every view %i pixels wide in %s, without error and clean under axe",
    async (width, scheme) => {
      const page = await opened(width, scheme);
      for (const [view, shows] of VIEWS) {
        await page.goto(`${scene.url}/#/${view}`);
        await page.waitForSelector(shows, { timeout: 10_000 });
        expect([view, await violations(page)]).toEqual([view, []]);
        const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
        expect([view, overflow]).toEqual([view, 0]);
      }
      expect(complaints).toEqual([]);
      await page.context().close();
    },
    60_000,
  );

  it("shows the numbers of the API: p95, replicas and requests of each service", async () => {
    const page = await opened(1_400, "light");
    await page.goto(`${scene.url}/#/services`);
    await page.waitForSelector(".grid .line");
    await waitUntil(async () => {
      const { recommendations } = await scene.json<RecommendationList>("/v1/recommendations");
      const { services } = await scene.json<Measured>("/v1/measured");
      const rows = await page.locator(".grid .line").allInnerTexts();
      return recommendations.every(({ replicas, service }) => {
        const row = rows.find((text) => text.startsWith(service))?.split("\n") ?? [];
        const rate = services.find((each) => each.service === service)?.requestsPerSecond ?? -1;
        return row.some((cell) => cell.endsWith(String(replicas))) && row.includes(String(Math.round(rate)));
      });
    }, 10_000);
    await page.context().close();
  });

  it("finds, sorts and opens a service by keyboard, and its link opens it again", async () => {
    const page = await opened(1_400, "light");
    await page.goto(`${scene.url}/#/services`);
    await page.waitForSelector(".grid .line");
    await page.keyboard.press("/");
    await page.keyboard.type("geo");
    await waitUntil(async () => (await page.locator(".grid .line").count()) === 1);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForSelector("dialog[open]");
    expect(page.url()).toContain("#/services/default/geo");
    await page.getByRole("button", { name: "Replay" }).first().click();
    await page.getByText("The guard decides the same again.").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.reload();
    await page.waitForSelector("dialog[open]");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog[open]", { state: "detached" });
    await page.context().close();
  });

  it("says that a link leads to a service that is not there", async () => {
    const page = await opened(1_400, "light");
    await page.goto(`${scene.url}/#/services/default/nobody`);
    await page.getByText("No service default/nobody here:").waitFor();
    await page.goto(`${scene.url}/#/services/default/geo`);
    await page.getByText("No service").waitFor({ state: "detached" });
    await page.context().close();
  });

  it("predicts in What if what the scaler's API answers for the same question", async () => {
    const page = await opened(1_400, "light");
    await page.goto(`${scene.url}/#/what-if?service=geo&set=${encodeURIComponent("geo~7~~")}`);
    await page.waitForSelector(".routes li");
    const body = JSON.stringify({ services: [{ service: "geo", replicas: 7 }] });
    await waitUntil(async () => {
      const headers = { "content-type": "application/json" };
      const answer = await scene.json<WhatIfAnswer>("/v1/what-if", { method: "POST", headers, body });
      const words = `${Math.round(1e3 * answer.routes[0]!.then.latencySeconds)} ms (`;
      return (await page.locator(".routes li").first().innerText()).includes(words);
    }, 10_000);
    await page.getByRole("button", { name: "As it is" }).click();
    await waitUntil(async () => !page.url().includes("set="));
    await page.context().close();
  });

  it("shows a deploy in the timeline, and finds it by its kind", async () => {
    const page = await opened(1_400, "light");
    await scene.deploy();
    await page.goto(`${scene.url}/#/timeline`);
    await page.getByRole("button", { name: "Deploys" }).click();
    const entry = page.locator(".timeline .entry", { hasText: "geo: its newest pods run another template" });
    await entry.waitFor({ timeout: 15_000 });
    expect(await entry.innerText()).toContain("one → two");
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  }, 30_000);

  it("shows beside an incident the patterns that the predictor's API names", async () => {
    const page = await opened(1_400, "light");
    await page.goto(`${scene.url}/#/incident`);
    const card = page.locator("section", { hasText: "Patterns in the windows and the load" });
    await waitUntil(async () => {
      const { patterns = [] } = await scene.json<Partial<PatternList>>("/v1/patterns");
      const text = await card.innerText();
      return patterns.length === 0
        ? text.includes("None: no shift of the load")
        : patterns.every(({ words }) => text.includes(words));
    }, 15_000);
    await page.context().close();
  }, 30_000);

  it("says that the objective is missed, and why, soon after it is", async () => {
    const page = await opened(500, "light");
    await page.goto(`${scene.url}/#/overview`);
    scene.milliseconds = 160;
    await page.locator(".banner .verdict", { hasText: "Objective missed" }).waitFor({ timeout: 15_000 });
    const banner = page.locator(".banner");
    await banner.getByText("Last done").waitFor();
    expect(await banner.innerText()).toMatch(/Time left: (the error budget is|none, the error budget of) /);
    await banner.getByRole("button", { name: "pause, hold or undo" }).click();
    expect(await page.locator(":focus").innerText()).toContain("Stop it, or hold it");
    await page.getByText("Why, and what would help").click();
    await page.getByText("What would help, by the models").waitFor({ timeout: 15_000 });
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  }, 40_000);

  it("shows against the HPA the figures of the scaler's API, of the report and of Prometheus", async () => {
    const { money, percent } = (await import(
      new URL("../../../../exporter/serve/web/console/format.js", import.meta.url).href
    )) as Record<"money" | "percent", (value: number, digits?: number) => string>;
    const page = await opened(1_400, "light");
    await page.goto(`${scene.url}/#/overview`);
    scene.isIdle = true;
    const tile = (label: string): Promise<string> =>
      page.locator(".tile", { hasText: label }).innerText({ timeout: 15_000 });
    await waitUntil(async () => {
      const { week } = ShadowWeek.parse(await scene.json("/v1/shadow"));
      if (week === undefined) return false;
      const toMs = Date.now() + 3_600_000;
      const asked = `${scene.predictorUrl}/v1/report?from=${toMs - 86_400_000}&to=${toMs}`;
      const report = PeriodReport.parse(await (await fetch(asked)).json());
      const metrics = await (await fetch(`${scene.predictorUrl}/metrics`)).text();
      const told = (name: string, policy: string): number =>
        Number(
          new RegExp(`^tradewind_predictor_${name}\\{[^}]*policy="${policy}"\\} (\\S+)$`, "mu").exec(
            metrics,
          )?.[1],
        );
      const { cost, hpaCost, hpaRequestsOver, requests, requestsOver, seconds } = week;
      const hourly = (whole: number): string => money((3_600 * whole) / seconds);
      const costs = `${hourly(cost)}  an hour instead of ${hourly(hpaCost.middle)} (${hourly(hpaCost.low)} to ${hourly(hpaCost.high)})`;
      const share = (over: number): string => percent(over / requests, 1);
      const range = `instead of ${share(hpaRequestsOver.middle)} (${share(hpaRequestsOver.low)} to ${share(hpaRequestsOver.high)})`;
      const { week: after } = ShadowWeek.parse(await scene.json("/v1/shadow"));
      const words = [await tile("Cost against the HPA"), await tile("Slow against the HPA")].map((text) =>
        text.replaceAll(/\s+/gu, " "),
      );
      // A window that was sent before the last question is among some of the answers only, and the page follows a plan later.
      if (
        after?.toMs !== week.toMs ||
        !words[0]!.includes(costs.replaceAll(/\s+/gu, " ")) ||
        !words[1]!.includes(range)
      )
        return false;
      expect(report.shadow).toEqual(week);
      for (const [policy, value] of [
        ["running", cost],
        ["hpa", hpaCost.middle],
        ["hpa-low", hpaCost.low],
        ["hpa-high", hpaCost.high],
      ] as const)
        expect([policy, told("week_cost", policy)]).toEqual([policy, value]);
      for (const [policy, value] of [
        ["running", requestsOver],
        ["hpa", hpaRequestsOver.middle],
        ["hpa-low", hpaRequestsOver.low],
        ["hpa-high", hpaRequestsOver.high],
      ] as const)
        expect([policy, told("week_requests_over_ratio", policy)]).toEqual([policy, value / requests]);
      expect(words[1]).toContain(share(requestsOver));
      return true;
    }, 20_000);
    scene.isIdle = false;
    await page.context().close();
  }, 40_000);
});
