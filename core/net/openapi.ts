import { z } from "zod";

/** One route as clients may count on it. */
export interface DescribedRoute {
  readonly method: "get" | "post";
  /** As the server has it: parts of the path that vary are `:name`. */
  readonly path: string;
  readonly summary: string;
  /** What may stand after the `?`, with its meaning; a `*` at the end of a name: it has to be there. */
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: z.ZodType;
  /** Of an answer in JSON. */
  readonly answer?: z.ZodType;
  /** Of another answer. */
  readonly mediaType?: string;
  /** Statuses of the answer; default 200. */
  readonly statuses?: readonly number[];
}

export interface DescribedServer {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  readonly routes: readonly DescribedRoute[];
  /** What stands in an answer of status 400 and above; default text. */
  readonly problem?: z.ZodType;
}

const TEXT = { "text/plain": { schema: { type: "string" } } };

export const OPENAPI_PATH = "/openapi.json";
/** The route of the description itself. */
export const OPENAPI_ROUTE: DescribedRoute = {
  method: "get",
  path: OPENAPI_PATH,
  summary: "This description, OpenAPI 3.1.",
  answer: z.looseObject({ openapi: z.string(), paths: z.record(z.string(), z.unknown()) }),
};

/**
 * The description of a server, OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.0). Schemas are those by which answers are made and
 * read, as JSON Schema 2020-12.
 * @throws Error where two routes have the same method and path
 */
export function openApi({ description, problem, routes, title, version }: DescribedServer): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of [...routes, OPENAPI_ROUTE]) {
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
    const operations = (paths[path] ??= {});
    if (operations[route.method] !== undefined) throw new Error(`${route.method} ${path} is described twice`);
    operations[route.method] = operationOf(route);
  }
  return {
    openapi: "3.1.0",
    info: { title, version, description, license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
    paths,
    components: {
      responses: {
        Problem: {
          description: "It cannot be answered, and why.",
          content:
            problem === undefined ? TEXT : { "application/json": { schema: schemaOf(problem, "output") } },
        },
      },
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
    },
    security: [{}, { token: [] }],
  };
}

/** The description of one server, held against the routes that it has. */
export class Description {
  readonly #server: DescribedServer;
  readonly #has = new Set<string>();
  #text: string | undefined;

  constructor(server: DescribedServer) {
    this.#server = server;
  }

  /** Hears of each route as the server takes it up; HEAD goes with GET. */
  hear({ method, url }: { readonly method: string | string[]; readonly url: string }): void {
    for (const each of [method].flat()) if (each !== "HEAD") this.#has.add(`${each} ${url}`);
  }

  /** As JSON, made when it is first asked for. @throws Error where the server has other routes than are described */
  text(): string {
    const { routes } = this.#server;
    const described = new Set(
      [...routes, OPENAPI_ROUTE].map(({ method, path }) => `${method.toUpperCase()} ${path}`),
    );
    const apart = [
      ...[...described].filter((route) => !this.#has.has(route)),
      ...[...this.#has].filter((route) => !described.has(route)),
    ];
    if (apart.length > 0) throw new Error(`routes and their description are apart: ${apart.join(", ")}`);
    return (this.#text ??= JSON.stringify(openApi(this.#server)));
  }
}

function operationOf({
  answer,
  body,
  mediaType,
  method,
  path,
  query = {},
  statuses = [200],
  summary,
}: DescribedRoute): object {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const inQuery = Object.entries(query).map(([name, meaning]) => ({
    name: name.replace(/\*$/, ""),
    in: "query",
    required: name.endsWith("*"),
    description: meaning,
    schema: { type: "string" },
  }));
  const parameters = [...inPath, ...inQuery];
  const content =
    answer === undefined
      ? mediaType === undefined
        ? TEXT
        : { [mediaType]: { schema: { type: "string" } } }
      : { "application/json": { schema: schemaOf(answer, "output") } };
  return {
    operationId: `${method}${path.replaceAll(/[^A-Za-z0-9]+(\w?)/g, (_, letter: string) => letter.toUpperCase())}`,
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: { required: true, content: { "application/json": { schema: schemaOf(body, "input") } } },
    }),
    responses: {
      ...Object.fromEntries(statuses.map((status) => [status, { description: "The answer.", content }])),
      default: { $ref: "#/components/responses/Problem" },
    },
  };
}

/** Parts that JSON Schema cannot say are left open. */
function schemaOf(schema: z.ZodType, io: "input" | "output"): object {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return rest;
}
