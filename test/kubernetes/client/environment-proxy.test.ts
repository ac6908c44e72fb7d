import { expect, it } from "vitest";
import { environmentProxy } from "@tradewind/kubernetes/client/environment-proxy.ts";

const PROXY = "http://proxy.example.com:3128";
const API = "https://api.cluster.example.com:6443";

it.each([
  ["HTTPS_PROXY is for https", API, { HTTPS_PROXY: PROXY }, PROXY],
  ["small letters", API, { https_proxy: PROXY }, PROXY],
  ["an empty one counts as none", API, { HTTPS_PROXY: "", https_proxy: PROXY }, PROXY],
  ["without a scheme it is an http proxy", API, { HTTPS_PROXY: "proxy.example.com:3128" }, PROXY],
  ["HTTP_PROXY is not for https", API, { HTTP_PROXY: PROXY }, undefined],
  ["HTTP_PROXY is for http", "http://10.0.0.1:8001", { HTTP_PROXY: PROXY }, PROXY],
  ["nothing is named", API, {}, undefined],
  ["localhost", "https://localhost:6443", { HTTPS_PROXY: PROXY }, undefined],
  ["a loopback address", "https://127.3.2.1:6443", { HTTPS_PROXY: PROXY }, undefined],
  ["a loopback address of IPv6", "https://[::1]:6443", { HTTPS_PROXY: PROXY }, undefined],
  ["everything is excepted", API, { HTTPS_PROXY: PROXY, NO_PROXY: "*" }, undefined],
  ["its domain is excepted", API, { HTTPS_PROXY: PROXY, NO_PROXY: "a.b, Example.com" }, undefined],
  ["its parent is excepted with all below", API, { HTTPS_PROXY: PROXY, no_proxy: ".example.com" }, undefined],
  ["the same with a star", API, { HTTPS_PROXY: PROXY, NO_PROXY: "*.example.com" }, undefined],
  ["a domain that only ends alike", API, { HTTPS_PROXY: PROXY, NO_PROXY: "ample.com" }, PROXY],
  [
    "only what is below is excepted",
    "https://example.com",
    { HTTPS_PROXY: PROXY, NO_PROXY: ".example.com" },
    PROXY,
  ],
  ["its port is excepted", API, { HTTPS_PROXY: PROXY, NO_PROXY: "example.com:6443" }, undefined],
  ["another port is excepted", API, { HTTPS_PROXY: PROXY, NO_PROXY: "example.com:443" }, PROXY],
  ["its network is excepted", "https://10.1.2.3", { HTTPS_PROXY: PROXY, NO_PROXY: "10.0.0.0/8" }, undefined],
  ["another network", "https://11.1.2.3", { HTTPS_PROXY: PROXY, NO_PROXY: "10.0.0.0/8,10.0.0.0/99" }, PROXY],
  ["its address", "https://[fd00::1]", { HTTPS_PROXY: PROXY, NO_PROXY: "fd00::1" }, undefined],
  ["its network of IPv6", "https://[fd00::1]", { HTTPS_PROXY: PROXY, NO_PROXY: "fd00::/8" }, undefined],
] as const)("%s", (_what, server, environment, proxy) => {
  expect(environmentProxy(new URL(server), environment)).toBe(proxy);
});
