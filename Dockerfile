FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# No install scripts: the SQLite driver comes with its binaries, and the image with Node.js.
RUN npm ci --omit=dev --ignore-scripts && mkdir /data

# No shell, no package manager; user nonroot (65532).
FROM gcr.io/distroless/nodejs24-debian12:nonroot
WORKDIR /app
ENV HOST=0.0.0.0 DATABASE_URL=sqlite:/data/token-server.db
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json ./
COPY migrations ./migrations
COPY src ./src
COPY --from=dependencies --chown=65532:65532 --chmod=700 /data /data
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=5s \
  CMD ["/nodejs/bin/node", "/app/src/main.ts", "healthcheck"]
# 8 MiB for young objects: more makes no request faster, and the process a hundred MiB larger.
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=8", "/app/src/main.ts"]
CMD ["serve"]
