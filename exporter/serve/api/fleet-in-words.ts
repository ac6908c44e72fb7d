import type { Fleet, FleetRow } from "@tradewind/core/contract/fleet.ts";
import type { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import type { Paint } from "@tradewind/core/terminal/style.ts";
import { renderTable } from "@tradewind/core/terminal/table.ts";
import type { Column } from "@tradewind/core/terminal/table.ts";
import { percent, utcSeconds } from "@tradewind/core/values/amounts.ts";

const COLUMNS: readonly Column[] = [
  { title: "application" },
  { title: "state" },
  { title: "latency/objective", align: "right" },
  { title: "budget left", align: "right" },
  { title: "replicas", align: "right" },
  { title: "cost/h", align: "right" },
  { title: "mode" },
  { title: "held" },
  { title: "last change" },
];

/** One line for each application, the worst first, and how those stand that miss their objective. */
export function fleetInWords(fleet: Fleet, list: RecommendationList, paint: Paint): string {
  const { applications, unreachable } = fleet;
  const missed = applications.filter(isMissed);
  const causes = (list.applications ?? []).flatMap(({ cause, name, namespace }) =>
    cause === undefined ? [] : [[`${namespace}/${name}`, cause.text ?? cause.summary] as const],
  );
  const why = new Map<string, string>(causes);
  const [first] = applications;
  return [
    paint(
      missed.length > 0 ? "red" : "green",
      `${missed.length} of ${applications.length} applications miss the objective`,
    ),
    renderTable(
      COLUMNS,
      applications.map((row) => cells(row, paint)),
      paint,
    ),
    ...missed.map((row) => {
      const cause = why.get(keyOf(row));
      return `${keyOf(row)}: ${row.standing ?? "objective missed"}${cause === undefined ? "" : `\n  ${cause}`}`;
    }),
    ...unreachable.map(({ cluster, problem }) => `${cluster} is not shown: ${problem}`),
    `The services of one: tradewind status --application ${first?.name ?? "NAME"}, with --namespace where two have that name.`,
  ].join("\n\n");
}

const keyOf = ({ cluster, name, namespace }: FleetRow): string =>
  `${cluster === undefined ? "" : `${cluster} `}${namespace}/${name}`;

const isMissed = ({ sloRatio = 0 }: FleetRow): boolean => sloRatio > 1;

function cells(row: FleetRow, paint: Paint): string[] {
  const {
    budgetLeftRatio: left,
    costPerHour,
    lastChange,
    mode,
    objective,
    overrides,
    problem,
    replicas,
    replicasReady,
  } = row;
  const state = isMissed(row)
    ? paint("red", "missed")
    : problem !== undefined || objective === undefined
      ? paint("yellow", "no new plan")
      : row.sloRatio === undefined
        ? "no traffic"
        : paint("green", "met");
  return [
    keyOf(row),
    state,
    row.sloRatio === undefined ? "–" : percent(row.sloRatio),
    left === undefined ? "–" : percent(left),
    replicasReady === replicas ? String(replicas) : `${replicasReady ?? "?"} → ${replicas}`,
    costPerHour === undefined ? "–" : costPerHour.toFixed(3),
    mode ?? "–",
    overrides[0] ?? "–",
    lastChange === undefined
      ? "none"
      : `${utcSeconds(lastChange.atMs).slice(11)} ${row.namespace}/${lastChange.service} ${lastChange.what}`,
  ];
}
