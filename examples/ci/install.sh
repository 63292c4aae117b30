#!/bin/sh
# Downloads the executable of a release to bin/, and compares it with its SHA-256 sum.
set -e
mkdir -p bin
curl --fail --silent --show-error --location --output bin/token-server "$TOKEN_SERVER_DOWNLOAD"
echo "$TOKEN_SERVER_SHA256  bin/token-server" | sha256sum --check --quiet
chmod +x bin/token-server
