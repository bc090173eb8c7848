# API and worker, one image each:
#
#   docker build --target api --tag agent-marketplace-api .
#   docker build --target worker --tag agent-marketplace-worker .
#   docker run --env-file service.env --publish 3000:3000 agent-marketplace-api
#
# README, "Configuration", lists the variables. Node runs the TypeScript sources as they are, so nothing is compiled.
FROM node:24-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The optional packages are graph-node's binary and native accelerators; the service needs neither.
RUN npm ci --omit=dev --omit=optional --ignore-scripts

FROM node:24-bookworm-slim AS service
ENV NODE_ENV=production
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json ./
COPY api api
# deploy/deployments has the addresses of the contracts; DEPLOYMENT_* can name files elsewhere.
COPY deploy deploy
USER node

# The worker listens on no port. It ends when it cannot go on, and whatever runs the container starts it again.
FROM service AS worker
HEALTHCHECK NONE
CMD ["node", "api/worker.ts"]

FROM service AS api
ENV HOST=0.0.0.0 PORT=3000
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "api/server.ts"]
