#!/bin/sh
# setup.sh [CACHE_DIR]: builds the consumers in Rust as CACHE_DIR/run, once per state of the sources. Exits with 77, and says
# on standard output what is missing, if there is no toolchain or no registry.
set -eu
cd "$(dirname "$0")"
dir=${1:-/var/cache/credfresh/sdk/rust}

missing() {
    echo "$*"
    exit 77
}

command -v cargo >/dev/null || missing "there is no Rust toolchain (cargo 1.95)"
command -v cc >/dev/null && command -v cmake >/dev/null || missing "aws-lc needs cc and cmake"
stamp=$( (cargo --version && cat src/*.rs Cargo.toml Cargo.lock setup.sh) | sha256sum)
[ ! -x "$dir/run" ] || [ "$(cat "$dir/built-for" 2>/dev/null)" != "$stamp" ] || exit 0
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

# 1. The crates. Nothing is written outside CACHE_DIR; a rustup's cargo still finds its toolchain.
export RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}" CARGO_HOME="$dir/cargo" CARGO_TARGET_DIR="$dir/target"
cargo fetch --locked --target "$(rustc -vV | sed -n 's/^host: //p')" >"$dir/log" 2>&1 ||
    missing "Rust's crates cannot be fetched: $(tail -n 1 "$dir/log")"

# 2. The program. It fails on an error in the sources only.
nice cargo build --locked --offline >"$dir/log" 2>&1 || {
    tail -n 40 "$dir/log" >&2
    exit 1
}
cp "$dir/target/debug/credfresh-sdk-consumer" "$dir/run.new"
mv "$dir/run.new" "$dir/run"
echo "$stamp" >"$dir/built-for"
