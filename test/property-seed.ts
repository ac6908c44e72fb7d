import fc from "fast-check";

/**
 * Properties are tried on the same inputs in every run of `npm test`, so that a change is judged by what it changes; `npm run fuzz`
 * and TRADEWIND_PROPERTY_SEED try others.
 */
fc.configureGlobal({ seed: Number(process.env["TRADEWIND_PROPERTY_SEED"] ?? 20_261_122) });
