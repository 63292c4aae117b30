FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No install scripts: the SQLite driver comes with its binaries, and the image with Node.js.
RUN npm ci --ignore-scripts
COPY lab/release lab/release
COPY bin bin
COPY src src
# The command, for `docker exec`: a script has one option for its interpreter at most, and there is no /usr/bin/env. Commands end
# soon, so they can do without the one that saves memory.
RUN sed -i '1s|.*|#!/nodejs/bin/node --disable-sigusr1|' bin/token-server.js \
  && mkdir commands /data && ln -s /app/bin/token-server.js commands/token-server \
  && npm run build && node lab/release/notices/main.ts > THIRD-PARTY.md \
  && find prebuilds -type f ! -name "linux-$(node -p process.arch).node" -delete

# No shell, no package manager; user nonroot (65532). The release's provenance has the digests of the images.
FROM gcr.io/distroless/nodejs24-debian12:nonroot
ENV HOST=0.0.0.0 OPS_ADDRESS=0.0.0.0:9464 DATABASE_URL=sqlite:/data/token-server.db
COPY --from=build /app/prebuilds /app/prebuilds
COPY --from=build /app/commands /usr/local/bin
COPY --from=build /app/lib /app/lib
COPY --from=build /app/bin /app/bin
COPY package.json LICENSE README.md CHANGELOG.md SECURITY.md /app/
COPY --from=build /app/THIRD-PARTY.md /app/
COPY migrations /app/migrations
COPY docs /app/docs
COPY --from=build --chown=65532:65532 --chmod=700 /data /data
# Only here it can write: the database, and the settings file of `init`.
WORKDIR /data
VOLUME /data
# Not the port for operators, which has no password: `docker run -P` publishes what is exposed.
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=5s \
  CMD ["/nodejs/bin/node", "/app/lib/main.js", "healthcheck"]
# The release names its commit.
ARG REVISION
LABEL org.opencontainers.image.title="token-server" \
  org.opencontainers.image.description="A standalone OAuth 2.0 token server for machine-to-machine clients" \
  org.opencontainers.image.version="1.0.0" \
  org.opencontainers.image.revision="$REVISION" \
  org.opencontainers.image.licenses="MIT"
# The environment and the options of bin/token-server.js.
ENV MALLOC_MMAP_THRESHOLD_=9000
# 8 MiB for young objects: more makes no request faster, and the process a hundred MiB larger.
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=8", "--disable-sigusr1", "/app/lib/main.js"]
CMD ["serve", "--create"]
