import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Description, openApi } from "../../../core/net/openapi.ts";

const SERVER = { title: "Bakery", version: "1.0.0", description: "Bread." };
const loaf = z.strictObject({ grams: z.number().min(0), crust: z.enum(["thin", "thick"]).optional() });

describe("a description of routes", () => {
  const described = openApi({
    ...SERVER,
    routes: [
      {
        method: "get",
        path: "/loaves/:id",
        summary: "One loaf.",
        query: { "day*": "Of baking." },
        answer: loaf,
      },
      { method: "post", path: "/loaves", summary: "Bakes.", body: loaf, answer: loaf, statuses: [201] },
      { method: "get", path: "/smell", summary: "Text." },
    ],
  });

  it("has parameters of the path and of the query, and the schemas of body and answer", () => {
    expect(described).toMatchObject({
      openapi: "3.1.0",
      info: { title: "Bakery", version: "1.0.0" },
      paths: {
        "/loaves/{id}": {
          get: {
            operationId: "getLoavesId",
            parameters: [
              { name: "id", in: "path", required: true },
              { name: "day", in: "query", required: true, description: "Of baking." },
            ],
            responses: {
              200: {
                content: {
                  "application/json": {
                    schema: {
                      type: "object",
                      properties: { grams: { type: "number", minimum: 0 } },
                      required: ["grams"],
                      additionalProperties: false,
                    },
                  },
                },
              },
            },
          },
        },
        "/loaves": { post: { requestBody: { required: true }, responses: { 201: {} } } },
        "/smell": { get: { responses: { 200: { content: { "text/plain": {} } } } } },
        "/openapi.json": { get: {} },
      },
    });
  });

  it("is refused where a route is described twice", () => {
    const route = { method: "get", path: "/loaves", summary: "All." } as const;
    expect(() => openApi({ ...SERVER, routes: [route, route] })).toThrow("get /loaves is described twice");
  });

  it("is not given while the server has other routes", () => {
    const description = new Description({
      ...SERVER,
      routes: [{ method: "get", path: "/oven", summary: "Heat." }],
    });
    for (const url of ["/oven", "/openapi.json", "/cellar"])
      description.hear({ method: ["GET", "HEAD"], url });
    expect(() => description.text()).toThrow("apart: GET /cellar");
  });
});
