import { fixed } from "../../model/distribution.ts";
import { wave } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";
import { MEBIBYTE, shop } from "../../applications/course-shop.ts";

export const SIDECAR = obstacle({
  name: "sidecar",
  about:
    "A mesh proxy in every pod with a limit four times the application's, mostly idle: means over containers hide a starved one.",
  load: wave(30, 90, 600),
  application: shop((each) => ({
    ...each,
    sidecar: {
      name: "istio-proxy",
      threads: 2,
      inboundMs: fixed(0.3),
      outboundMs: fixed(0.2),
      memoryBytes: 60 * MEBIBYTE,
      cpuRequestCores: 0.1,
      cpuLimitCores: 2,
      memoryRequestBytes: 128 * MEBIBYTE,
      memoryLimitBytes: 1_024 * MEBIBYTE,
    },
  })),
  family: "sidecar",
});
