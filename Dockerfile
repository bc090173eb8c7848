# API and worker, one image each:
#
#   docker build --target api --tag agent-marketplace-api .
#   docker build --target worker --tag agent-marketplace-worker .
#   docker run --env-file service.env --volume marketplace-search:/data/search --publish 3000:3000 agent-marketplace-api
#   docker run --env-file service.env --volume marketplace-search:/data/search agent-marketplace-worker
#
# docs/operating/configuration.md lists the variables. Node runs the TypeScript sources as they are, so only the client is
# compiled, for whoever installs it.
FROM node:24-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The search engine's library is among the optional packages, because there is one for each platform. The binaries of graph-node and Node are not needed.
RUN npm ci --omit=dev --ignore-scripts && rm -rf node_modules/@graphprotocol/gnd-* node_modules/node-linux-*
# The encoder's runtime brings 290 MB of binaries for all platforms. It needs glibc, so no Alpine image will do.
RUN find node_modules/onnxruntime-node/bin/napi-v6 -mindepth 2 -maxdepth 2 \
  ! -path "*/linux/$(node -p process.arch)" -exec rm -rf {} +

# The clients that the API hands out at /downloads. Its compiler is a development package.
FROM node:24-bookworm-slim AS downloads
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=optional --ignore-scripts
COPY sdk sdk
COPY tools tools
COPY cli cli
COPY scripts scripts
RUN node scripts/build-downloads.ts --out-dir /downloads

# The web pages. Their compiler is a development package with a binary for each platform.
FROM node:24-bookworm-slim AS web
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY sdk/package.json sdk/
COPY sdk/src sdk/src
COPY web web
COPY scripts scripts
RUN node scripts/build-web.ts --out-dir /web

FROM node:24-bookworm-slim AS service
ENV NODE_ENV=production
# The search engine's threads would each keep freed memory of their own: a process that searched 10,000 listings had 829 MB, and has 707.
ENV MALLOC_ARENA_MAX=2
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json ./
COPY api api
# The guides that the API serves.
COPY docs/first-agent.md docs/tour.md docs/
COPY docs/api docs/api
COPY docs/operations docs/operations
# deploy/deployments has the addresses of the contracts; DEPLOYMENT_* can name files elsewhere.
COPY deploy deploy
# API and worker need the same volume here, or SEARCH_INDEX_URL names an object store.
RUN mkdir -p /data/search && chown node /data/search
ENV SEARCH_INDEX_URL=/data/search
VOLUME /data/search
USER node

# The worker listens on no port unless METRICS_PORT is set. It ends when it cannot go on, and whatever runs the container starts it again.
FROM service AS worker
HEALTHCHECK NONE
CMD ["node", "api/worker.ts"]

FROM service AS api
# The API serves the tools at /mcp. They stand on the client; Node runs both as they are.
COPY sdk/package.json sdk/
COPY sdk/src sdk/src
COPY tools/package.json tools/
COPY tools/src tools/src
COPY --from=downloads /downloads downloads
COPY --from=web /web web
ENV HOST=0.0.0.0 PORT=3000 DOWNLOADS_DIR=/app/downloads WEB_DIR=/app/web
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "api/server.ts"]
