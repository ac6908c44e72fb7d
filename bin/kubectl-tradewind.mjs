#!/usr/bin/env node
// On PATH under this name without its ending, kubectl runs it as `kubectl tradewind`.
process.argv.splice(2, 0, "kubectl");
await import("./tradewind.mjs");
