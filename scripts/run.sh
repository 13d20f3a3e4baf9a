#!/usr/bin/env bash
# From a clone to a running system in one terminal. Ctrl-C ends it and leaves nothing behind.
#
#   ANTEROOM_STORE__URL    a Redis to use; without it one is found, or got, and runs privately
#   ANTEROOM_BIN_DIR       a folder with both binaries; without it release binaries are built
#   ANTEROOM_<SECTION>__<KEY>, RUST_LOG   as for the services
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
config=config/demo.toml
queue=concert

say() { printf '%s\n' "$*"; }
fail() {
  printf 'anteroom: %s\n' "$*" >&2
  exit 1
}

# --- what runs, and its end -----------------------------------------------------------------------

folder=$(mktemp -d "${TMPDIR:-/tmp}/anteroom.XXXXXX")
names=()
ids=()

# Each child is the leader of a process group of its own: a Ctrl-C reaches only this script, which
# then ends them in order, and a whole group ends together.
start() {
  local name=$1
  shift
  set -m
  "$@" &
  set +m
  names+=("$name")
  ids+=("$!")
}

# Asks the newest first, so that the store outlives the services; then insists.
stop_all() {
  local i
  for ((i = ${#ids[@]} - 1; i >= 0; i--)); do
    kill -TERM -- "-${ids[i]}" 2>/dev/null || true
    for _ in $(seq 80); do
      kill -0 -- "-${ids[i]}" 2>/dev/null || break
      sleep 0.1
    done
    kill -KILL -- "-${ids[i]}" 2>/dev/null || true
    wait "${ids[i]}" 2>/dev/null || true
  done
}
finish() {
  trap '' INT TERM HUP
  stop_all
  rm -rf "$folder"
}
trap finish EXIT
trap 'say "stopping"; exit 0' INT TERM HUP

# A child that ended by itself ends everything, with its last words.
watch() {
  local i code=0
  for i in "${!ids[@]}"; do
    kill -0 "${ids[i]}" 2>/dev/null && continue
    wait "${ids[i]}" || code=$?
    printf '\nthe last lines of %s:\n' "${names[i]}" >&2
    tail -n 20 "$folder/${names[i]}.log" >&2 || true
    fail "${names[i]} ended by itself, with code $code"
  done
}
# Signals are heard at once, for they interrupt a wait but not a sleep.
pause() {
  sleep "$1" &
  wait "$!" || true
}

# --- ports ----------------------------------------------------------------------------------------

# The address that a key has: by the environment, else by the file.
address() {
  local section=$1 key=$2 variable=$3
  if [ -n "${!variable:-}" ]; then
    say "${!variable}"
  else
    sed -n "/^\[$section\]/,/^\[/s/^$key *= *\"\(.*\)\".*/\1/p" "$config"
  fi
}
listens() { (exec 3<>"/dev/tcp/${1%:*}/${1##*:}") 2>/dev/null; }
check_port() {
  local found
  found=$(address "$1" "$2" "$3")
  if [ "${found##*:}" != 0 ] && listens "$found"; then
    fail "$found is taken by another program ($1.$2): end it, or set $3 to another address"
  fi
}
check_port admission listen ANTEROOM_ADMISSION__LISTEN
check_port admission service_listen ANTEROOM_ADMISSION__SERVICE_LISTEN
check_port admission metrics_listen ANTEROOM_ADMISSION__METRICS_LISTEN
check_port scheduler metrics_listen ANTEROOM_SCHEDULER__METRICS_LISTEN

# --- programs -------------------------------------------------------------------------------------

if [ -z "${ANTEROOM_BIN_DIR:-}" ]; then
  command -v cargo >/dev/null || fail "Rust is missing. Please install: https://rustup.rs"
  say "building; the first time takes some minutes"
  start build cargo build --release --locked -p anteroom-admission -p anteroom-scheduler
  wait "${ids[0]}" || fail "the build failed"
  names=()
  ids=()
  ANTEROOM_BIN_DIR=${CARGO_TARGET_DIR:-target}/release
fi
for name in admission scheduler; do
  [ -x "$ANTEROOM_BIN_DIR/anteroom-$name" ] || fail "no anteroom-$name in $ANTEROOM_BIN_DIR"
done

# --- the store ------------------------------------------------------------------------------------

if [ -z "${ANTEROOM_STORE__URL:-}" ]; then
  server=$(scripts/redis.sh)
  say "starting $server, private and without persistence"
  socket=$folder/redis.sock
  start redis "$server" --port 0 --unixsocket "$socket" --unixsocketperm 700 --dir "$folder" \
    --save '' --appendonly no --maxmemory-policy noeviction >"$folder/redis.log" 2>&1
  until [ -S "$socket" ]; do
    watch
    pause 0.05
  done
  export ANTEROOM_STORE__URL="unix://$socket"
fi
# An address may hold a password, and a password an "@".
shown=$(say "$ANTEROOM_STORE__URL" | sed 's|//.*@|//***@|')
say "waiting for the store at $shown"

# --- the services ---------------------------------------------------------------------------------

# Visitors are sent to where admission listens, also when that was changed.
public=$(address admission listen ANTEROOM_ADMISSION__LISTEN)
if [ "${public##*:}" != 0 ]; then
  export ANTEROOM_QUEUES__CONCERT__PUBLIC_URL="${ANTEROOM_QUEUES__CONCERT__PUBLIC_URL:-http://$public}"
fi
export ANTEROOM_LOG__FORMAT=json
for name in admission scheduler; do
  start "$name" "$ANTEROOM_BIN_DIR/anteroom-$name" --config "$config" >"$folder/$name.log" 2>&1
done

# Where a port of a service listens, from its log; nothing while it does not.
listening() {
  sed -n "s/.*\"message\":\"listening\".*\"port\":\"$2\",\"address\":\"\([^\"]*\)\".*/\1/p" \
    "$folder/$1.log" | head -n 1
}
# Whether a service is ready; if not, "reason" says why.
is_ready() {
  local metrics answer=
  reason="it does not listen yet"
  metrics=$(listening "$1" metrics)
  [ -n "$metrics" ] || return 1
  exec 3<>"/dev/tcp/${metrics%:*}/${metrics##*:}" || return 1
  printf 'GET /readyz HTTP/1.1\r\nhost: %s\r\nconnection: close\r\n\r\n' "$metrics" >&3
  answer=$(cat <&3) || true
  exec 3>&-
  reason=${answer##*$'\n'}
  [[ $answer == "HTTP/1.1 200 "* ]]
}
# Why a service cannot reach the store, from its log; nothing while it has not said so.
cannot_reach_store() {
  sed -n 's/.*"message":"the store cannot be reached".*"reason":"\([^"]*\)".*/\1/p' "$folder/$1.log" | tail -n 1
}
# A service may take its time on a busy machine; once it says that it cannot reach the store, that has
# been tried for long enough in 10 s.
deadline=$((SECONDS + 60))
store_deadline=
for name in admission scheduler; do
  until is_ready "$name" 2>/dev/null; do
    watch
    why=$(cannot_reach_store "$name")
    if [ -n "$why" ]; then
      : "${store_deadline:=$((SECONDS + 10))}"
      ((SECONDS < store_deadline)) || fail "no answer from the store at $shown for 10 s: $why"
    fi
    ((SECONDS < deadline)) || fail "$name is not ready after a minute: $reason"
    pause 0.05
  done
done

public=http://$(listening admission public)
api=$public/v1/queues/$queue
cat <<END

Anteroom is running. Ctrl-C ends it and leaves nothing behind.

  waiting page     $public/queues/$queue, and in a private window a second visitor
  API              $api, described at $public/openapi.json
  service port     http://$(listening admission service), described at /openapi.json
  metrics          http://$(listening admission metrics)/metrics (admission)
                   http://$(listening scheduler metrics)/metrics (scheduler)
  store            $shown
  logs             $folder/*.log

Join, look where you stand, ask as a gateway does (again from the first: the line grows):

  TOKEN=\$(curl -s -X POST $api/tokens -H 'content-type: application/json' -d '{}' | sed 's/.*"token":"\([^"]*\)".*/\1/'); echo "\$TOKEN"
  curl -s -w '\n' $api/token -H "x-anteroom-token: \$TOKEN"
  curl -s -i -w '\n' $api/authorize -H "x-anteroom-token: \$TOKEN"

END

while true; do
  watch
  pause 0.5
done
