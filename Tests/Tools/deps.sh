#!/usr/bin/env bash
# Installs what chatbench needs from Debian (and, for the tests, PyPI). Says what it installs; does nothing when all is there.
set -euo pipefail
build=(libsqlite3-dev libarchive-dev libzstd-dev libssl-dev libevent-dev libhttp-parser-dev libsimdjson-dev libwslay-dev pkg-config)
test=(python3 python3-pip zstd unzip)

if ! command -v swift >/dev/null; then
  echo "chatbench needs Swift 6: install the toolchain from swift.org and put swift on the PATH" >&2
  exit 69
fi
version=$(swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9]+).*/\1/p' | head -n 1)
if [ "${version:-0}" -lt 6 ]; then
  echo "chatbench needs Swift 6; this is Swift ${version:-of an unknown version}" >&2
  exit 69
fi

wanted=("${build[@]}")
[ "${1:-build}" = test ] && wanted+=("${test[@]}")
missing=()
for package in "${wanted[@]}"; do
  case "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)" in
    *" installed") ;;
    *)
      # A Python that is there already, from whatever source, is good enough.
      case "$package" in
        python3) command -v python3 >/dev/null && continue ;;
        python3-pip) python3 -m pip --version >/dev/null 2>&1 && continue ;;
      esac
      missing+=("$package")
      ;;
  esac
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "installing from Debian: ${missing[*]}"
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "not root, and there is no sudo: install these yourself" >&2; exit 69; }
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

if [ "${1:-build}" = test ]; then
  root=$(cd "$(dirname "$0")/../.." && pwd)
  if [ ! -e "$root/.build/python/websockets" ]; then
    echo "installing from PyPI into .build/python: websockets"
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target "$root/.build/python" "websockets>=12,<16"
  fi
fi
