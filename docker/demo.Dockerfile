# syntax=docker/dockerfile:1
# The demonstration and every command of Tradewind, for whoever has no Node.js: `tradewind local` unless another is named.
#   docker build --file docker/demo.Dockerfile --tag tradewind-demo:0.1.0 .
#   docker run --rm -it --network host tradewind-demo:0.1.0
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS build
ARG NODE_IMAGE
# `yes` for a release: a tag may come to name other bytes, a digest never.
ARG REQUIRE_DIGEST=no
RUN case "$REQUIRE_DIGEST $NODE_IMAGE" in "no "*|"yes "*@sha256:*) ;; *) echo "NODE_IMAGE=$NODE_IMAGE has no digest" >&2; exit 1 ;; esac
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
COPY core/package.json core/
COPY agent/package.json agent/
COPY kubernetes/package.json kubernetes/
COPY predictor/package.json predictor/
COPY exporter/package.json exporter/
COPY local/package.json local/
COPY simulator/package.json simulator/
COPY cli/package.json cli/
# No install script is needed: Node.js comes with the image, and every package is plain JavaScript.
RUN --mount=type=cache,target=/root/.npm npm ci --ignore-scripts --no-audit
COPY . .
RUN node bin/build.ts && find dist -name '*.map' -delete
WORKDIR /src/dist
# Only what this workspace needs, by the lockfile. The command's own manifest names all processes and is left out: it loads
# a process when it is asked for it, and finds the one that is here.
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --workspace=@tradewind/cli

FROM ${NODE_IMAGE}
ARG NODE_IMAGE
LABEL org.opencontainers.image.title="tradewind-demo" \
      org.opencontainers.image.description="tradewind local: a small application, its load, disturbances, and Tradewind scaling it." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="${NODE_IMAGE}"
ENV NODE_ENV=production
WORKDIR /app
COPY LICENSE NOTICE ./
COPY --from=build /src/dist/package.json /src/dist/package-lock.json ./
COPY --from=build /src/dist/node_modules node_modules/
COPY --from=build /src/dist/core core/
COPY --from=build /src/dist/agent agent/
COPY --from=build /src/dist/kubernetes kubernetes/
COPY --from=build /src/dist/predictor predictor/
COPY --from=build /src/dist/exporter exporter/
COPY --from=build /src/dist/local local/
COPY --from=build /src/dist/simulator simulator/
COPY --from=build /src/dist/cli cli/
USER 29815:29815
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "cli/main.js"]
CMD ["local"]
