import type { Candidate, Incident } from "@tradewind/predictor/answers/reason/incident.ts";
import type { Series, SignalName } from "@tradewind/predictor/answers/reason/signals.ts";
import { numberIn, readCsv } from "../profile/csv.ts";
import { known } from "./case.ts";
import type { RecordedCase, RecordedSet } from "./case.ts";

type Rows = readonly Readonly<Record<string, string>>[];

/** Column endings and the signal each is; one that is missing here has no counterpart among the product's signals. */
const SIGNALS: Readonly<Record<string, SignalName>> = {
  cpu: "cpuCores",
  mem: "memoryBytes",
  diskio: "diskBytes",
  load: "requestRate",
  workload: "requestRate",
  error: "errorRatio",
  latency: "responseP95",
  "latency-90": "responseP95",
};

/** Of the RE2 case, whose fault the data sheet infers: second of the recording in which it begins. */
const RE2_ONSET = 734;

/** Service and signal of a column; undefined of the clock and of what has no counterpart. */
function columnOf(name: string): { readonly service: string; readonly signal: SignalName } | undefined {
  const cut = name.lastIndexOf("_");
  const signal = SIGNALS[name.slice(cut + 1)];
  return cut < 0 || signal === undefined ? undefined : { service: name.slice(0, cut), signal };
}

function incidentOf(normal: Rows, now: Rows, entry: string): Incident {
  const services = new Map<string, Series[]>();
  for (const name of Object.keys(normal[0] ?? {})) {
    const column = columnOf(name);
    if (column === undefined) continue;
    const scale = column.signal === "memoryBytes" && (Number(normal[0]?.[name]) || 0) < 1e5 ? 1e6 : 1;
    const valuesOf = (rows: Rows): number[] => known(rows.map((row) => scale * numberIn(row, name)));
    const series = services.get(column.service) ?? [];
    services.set(column.service, series);
    series.push({ signal: column.signal, normal: valuesOf(normal), now: valuesOf(now) });
  }
  const candidates = [...services].map(([name, series]): Candidate => ({ name, series }));
  return { entry, candidates, calls: callsOf(entry, services), leastPast: 40 };
}

/** The applications' own call graphs, which the recordings leave out. */
const CALLS: Readonly<Record<string, readonly string[]>> = {
  frontend: [
    "adservice",
    "cartservice",
    "checkoutservice",
    "currencyservice",
    "productcatalogservice",
    "recommendationservice",
    "shippingservice",
  ],
  checkoutservice: [
    "cartservice",
    "currencyservice",
    "emailservice",
    "paymentservice",
    "productcatalogservice",
    "shippingservice",
  ],
  recommendationservice: ["productcatalogservice"],
  cartservice: ["redis"],
  "front-end": ["carts", "catalogue", "orders", "user"],
  orders: ["carts", "payment", "shipping", "user", "orders-db"],
  carts: ["carts-db"],
  catalogue: ["catalogue-db"],
  user: ["user-db"],
  shipping: ["rabbitmq"],
  "queue-master": ["rabbitmq"],
};

const callsOf = (_entry: string, services: ReadonlyMap<string, unknown>): Incident["calls"] =>
  Object.entries(CALLS).flatMap(([caller, callees]) =>
    callees
      .filter((callee) => services.has(caller) && services.has(callee))
      .map((callee) => ({ caller, callee })),
  );

function re1(set: string, name: string, entry: string, part: RecordedCase["part"]): RecordedCase {
  const folder = ["rca", "rcaeval", set, name] as const;
  const [normal, now] = ["normal.csv.gz", "anomalous.csv.gz"].map((file) => readCsv(...folder, file));
  const incident = incidentOf(normal ?? [], now ?? [], entry);
  return { id: name, incident, rootCause: name.split("_")[0] ?? "", kind: "cpu", part };
}

/** Five CPU faults. Online Boutique is for tuning, Sock Shop for the report. @throws Error without the data */
export function rcaeval(): RecordedSet[] {
  const re2 = readCsv("rca", "rcaeval", "re2ob_case_simple_metrics.csv.gz");
  const cut: RecordedCase = {
    id: "re2 checkoutservice_cpu",
    incident: incidentOf(re2.slice(0, RE2_ONSET), re2.slice(RE2_ONSET), "frontend"),
    rootCause: "checkoutservice",
    kind: "cpu",
    part: "tuning",
  };
  return [
    {
      name: "rcaeval-online-boutique",
      cases: [
        re1("online-boutique", "adservice_cpu_1", "frontend", "tuning"),
        re1("online-boutique", "adservice_cpu_2", "frontend", "tuning"),
        cut,
      ],
      calm: [],
    },
    {
      name: "rcaeval-sock-shop",
      cases: [
        re1("sock-shop-2", "carts_cpu_1", "front-end", "report"),
        re1("sock-shop-2", "carts_cpu_2", "front-end", "report"),
      ],
      calm: [],
    },
  ];
}
