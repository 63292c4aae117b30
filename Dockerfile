FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# No install scripts: the SQLite driver comes with its binaries, and the image with Node.js.
# Of the driver only this platform's binary is needed, not the others nor what they were built from.
RUN npm ci --omit=dev --ignore-scripts && mkdir /data \
  && cd node_modules/better-sqlite3 && rm -r deps src binding.gyp \
  && find prebuilds -type f ! -name "linux-$(node -p process.arch).node" -delete

# No shell, no package manager; user nonroot (65532).
FROM gcr.io/distroless/nodejs24-debian12:nonroot
ENV HOST=0.0.0.0 OPS_ADDRESS=0.0.0.0:9464 DATABASE_URL=sqlite:/data/token-server.db
# Before WORKDIR, which would make a folder that the user of the process owns: only /data is to be written to.
COPY --from=dependencies /app/node_modules /app/node_modules
COPY package.json /app/
COPY migrations /app/migrations
COPY docs/openapi.yaml docs/openapi-admin.yaml docs/reference.html /app/docs/
COPY src /app/src
WORKDIR /app
COPY --from=dependencies --chown=65532:65532 --chmod=700 /data /data
VOLUME /data
# Not the port for operators, which has no password: `docker run -P` publishes what is exposed.
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=5s \
  CMD ["/nodejs/bin/node", "/app/src/main.ts", "healthcheck"]
# 8 MiB for young objects: more makes no request faster, and the process a hundred MiB larger.
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=8", "--disable-sigusr1", "/app/src/main.ts"]
CMD ["serve", "--create"]
