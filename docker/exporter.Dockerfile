# syntax=docker/dockerfile:1
# Exporter of Tradewind: the KEDA external scaler.
#   docker build --file docker/exporter.Dockerfile --tag tradewind-exporter:0.1.0 .
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
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --workspace=@tradewind/exporter

FROM ${NODE_IMAGE}
ARG NODE_IMAGE
LABEL org.opencontainers.image.title="tradewind-exporter" \
      org.opencontainers.image.description="Exporter of Tradewind: the KEDA external scaler." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="${NODE_IMAGE}"
# Each thread would otherwise keep freed memory in arenas of its own: 30 MB more at 5,000 services.
ENV NODE_ENV=production \
    MALLOC_ARENA_MAX=2 \
    MALLOC_MMAP_THRESHOLD_=131072 \
    MALLOC_TRIM_THRESHOLD_=131072
WORKDIR /app
COPY LICENSE NOTICE ./
COPY --from=build /src/dist/package.json /src/dist/package-lock.json ./
COPY --from=build /src/dist/node_modules node_modules/
COPY --from=build /src/dist/core core/
COPY --from=build /src/dist/kubernetes kubernetes/
COPY --from=build /src/dist/exporter exporter/
COPY --from=build /src/dist/cli cli/
USER 29812:29812
EXPOSE 9812 9813
STOPSIGNAL SIGTERM
# Process 1 is the supervisor: nobody in a container may kill process 1, and an exporter that hangs must be killed.
# One helper for V8: four, the default, collect the garbage of a plan on all CPUs at once, and KEDA's calls wait.
ENTRYPOINT ["node", "core/process/supervise.js", "--v8-pool-size=1", "cli/main.js"]
CMD ["exporter", "--help"]
