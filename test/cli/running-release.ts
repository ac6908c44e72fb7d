import type { Running } from "@tradewind/core/process/running.ts";
import { startExporter } from "@tradewind/exporter/exporter.ts";
import { Shop } from "../predictor/shop.ts";
import { waitUntil } from "../wait-until.ts";

const ANY = "127.0.0.1:0";

/** A scaler and its predictor, with an application under load that models have learnt. */
export class RunningRelease {
  private readonly shop: Shop;
  private readonly scaler: Running;

  private constructor(shop: Shop, scaler: Running) {
    this.shop = shop;
    this.scaler = scaler;
  }

  static async start(): Promise<RunningRelease> {
    const shop = await Shop.open({ hasState: true });
    const scaler = await startExporter({
      listen: ANY,
      grpcListen: ANY,
      predictor: shop.url,
      application: shop.application.config,
      logLevel: "silent",
      restartGrace: 0,
      pollMs: 50,
    });
    const release = new RunningRelease(shop, scaler);
    await waitUntil(async () => {
      const answer = await shop.post("/v1/what-if", {});
      const { routes = [] } = (await answer.json()) as { routes?: unknown[] };
      const list = await (await fetch(`${release.scalerUrl}/v1/recommendations`)).text();
      return routes.length > 0 && list.includes('"decisionId"');
    }, 30_000);
    return release;
  }

  get predictorUrl(): string {
    return this.shop.url;
  }

  get scalerUrl(): string {
    return this.scaler.addresses["http"]!;
  }

  async stop(): Promise<void> {
    await this.scaler.stop();
    await this.shop.close();
  }
}
