# The gateway as an image: Node, the compiled program and what it needs at run time. No Redis: give it one with
# BATON_REDIS_URL, or with a configuration file (Sentinel, Cluster) mounted at /etc/baton/baton.yaml.
#
#   docker build -t baton .
#   docker run --read-only -e BATON_REDIS_URL=redis://redis:6379 -e BATON_ADMIN_TOKEN_FILE=... -p 7420:7420 baton
#
# Base: anything with Node 24, npm and the CA certificates of the platform; 22.19 is the oldest Node that works.
ARG NODE_IMAGE=docker.io/library/node:24-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
# Without install scripts: none is needed to compile, and none gets to run.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run build

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
 && npm sbom --omit=dev --package-lock-only --sbom-format=cyclonedx > sbom.cdx.json \
 && rm package-lock.json node_modules/.package-lock.json

FROM ${NODE_IMAGE}
ENV NODE_ENV=production \
    BATON_CONFIG=/etc/baton/baton.yaml
WORKDIR /app
COPY --from=dependencies /app ./
COPY --from=build /src/dist ./dist
COPY LICENSE ./
COPY container/healthcheck.mjs ./
COPY container/baton.yaml /etc/baton/baton.yaml
# Only the admin credential is ever written, and only where none is given.
RUN mkdir -p /var/lib/baton && chown 65532:65532 /var/lib/baton
USER 65532:65532
EXPOSE 7420 7421
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "/app/healthcheck.mjs"]
STOPSIGNAL SIGTERM
# In exec form, so that node is the process that gets SIGTERM, and lets go of its clients.
ENTRYPOINT ["node", "/app/dist/src/cli/baton.js"]
CMD ["serve", "--json", "--grace", "20s"]
