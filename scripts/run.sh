#!/usr/bin/env bash
# From a clone to a running system in one terminal. Ctrl-C ends it and leaves nothing behind.
#
#   ANTEROOM_STORE__URL    a Redis to use; without it one is found, or got, and runs privately
#   ANTEROOM_BIN_DIR       a folder with the binaries; without it they are built with the profile `trial`
#   CONCERT_LISTEN         where the sample service listens, instead of 127.0.0.1:8090
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

# Asks the newest first, so that Redis outlives the services; then insists.
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
    fail "${names[i]} ended unexpectedly, with code $code"
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
  local found=$1 what=$2 variable=$3
  if [ "${found##*:}" != 0 ] && listens "$found"; then
    fail "another program uses $found ($what): end it, or set $variable to another address"
  fi
}
check_key() { check_port "$(address "$1" "$2" "$3")" "$1.$2" "$3"; }
check_key admission listen ANTEROOM_ADMISSION__LISTEN
check_key admission service_listen ANTEROOM_ADMISSION__SERVICE_LISTEN
check_key admission metrics_listen ANTEROOM_ADMISSION__METRICS_LISTEN
check_key scheduler metrics_listen ANTEROOM_SCHEDULER__METRICS_LISTEN
check_key issuer metrics_listen ANTEROOM_ISSUER__METRICS_LISTEN
export CONCERT_LISTEN=${CONCERT_LISTEN:-127.0.0.1:8090}
check_port "$CONCERT_LISTEN" "the sample service" CONCERT_LISTEN

# --- programs -------------------------------------------------------------------------------------

if [ -z "${ANTEROOM_BIN_DIR:-}" ]; then
  command -v cargo >/dev/null || fail "Rust is missing. Please install: https://rustup.rs"
  say "building; the first time takes some minutes"
  start build cargo build --profile trial --locked -p anteroom-admission -p anteroom-scheduler \
    -p anteroom-issuer -p anteroom-concert
  wait "${ids[0]}" || fail "the build failed"
  names=()
  ids=()
  ANTEROOM_BIN_DIR=${CARGO_TARGET_DIR:-target}/trial
fi
for name in admission scheduler issuer concert; do
  [ -x "$ANTEROOM_BIN_DIR/anteroom-$name" ] || fail "no anteroom-$name in $ANTEROOM_BIN_DIR"
done

# --- Redis ----------------------------------------------------------------------------------------

if [ -z "${ANTEROOM_STORE__URL:-}" ]; then
  server=$(scripts/redis.sh)
  say "starting $server, for this run only, without persistence"
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
say "waiting for Redis at $shown"

# --- the services ---------------------------------------------------------------------------------

# Visitors are sent to where admission listens, also when that was changed.
public=$(address admission listen ANTEROOM_ADMISSION__LISTEN)
if [ "${public##*:}" != 0 ]; then
  export ANTEROOM_QUEUES__CONCERT__PUBLIC_URL="${ANTEROOM_QUEUES__CONCERT__PUBLIC_URL:-http://$public}"
fi
# And from the waiting page on to the concert.
if [ "${CONCERT_LISTEN##*:}" != 0 ]; then
  origins=ANTEROOM_QUEUES__CONCERT__RETURN_TO_ORIGINS
  export "$origins=${!origins:-http://$CONCERT_LISTEN}"
fi
export ANTEROOM_LOG__FORMAT=json
for name in admission scheduler issuer; do
  start "$name" "$ANTEROOM_BIN_DIR/anteroom-$name" --config "$config" >"$folder/$name.log" 2>&1
done

# Where a port of a service listens, from its log; nothing while it does not.
listening() {
  sed -n "s/.*\"message\":\"listening\".*\"port\":\"$2\",\"address\":\"\([^\"]*\)\".*/\1/p" \
    "$folder/$1.log" | head -n 1
}
# Whether a service is ready, by one of its ports; if not, "reason" says why.
is_ready() {
  local asked answer=
  reason="it does not listen yet"
  asked=$(listening "$1" "$2")
  [ -n "$asked" ] || return 1
  exec 3<>"/dev/tcp/${asked%:*}/${asked##*:}" || return 1
  printf 'GET /readyz HTTP/1.1\r\nhost: %s\r\nconnection: close\r\n\r\n' "$asked" >&3
  answer=$(cat <&3) || true
  exec 3>&-
  reason=${answer##*$'\n'}
  [[ $answer == "HTTP/1.1 200 "* ]]
}
# Why a service cannot reach Redis, from its log; nothing until it has logged so.
cannot_reach_store() {
  sed -n 's/.*"message":"Redis cannot be reached".*"reason":"\([^"]*\)".*/\1/p' "$folder/$1.log" | tail -n 1
}
# A service can take its time on a busy machine; once it logs that it cannot reach Redis, that has been
# tried for long enough in 10 s.
deadline=$((SECONDS + 60))
store_deadline=
until_ready() {
  local name=$1 port=$2 why
  until is_ready "$name" "$port" 2>/dev/null; do
    watch
    why=$(cannot_reach_store "$name")
    if [ -n "$why" ]; then
      : "${store_deadline:=$((SECONDS + 10))}"
      ((SECONDS < store_deadline)) || fail "no answer from Redis at $shown for 10 s: $why"
    fi
    ((SECONDS < deadline)) || fail "$name is not ready after a minute: $reason"
    pause 0.05
  done
}
until_ready admission metrics
until_ready scheduler metrics
until_ready issuer metrics

# The service that is protected asks the gate itself.
start concert "$ANTEROOM_BIN_DIR/anteroom-concert" --database "$folder/concert.sqlite" --gate ask \
  --anteroom "http://$(listening admission public)" \
  --anteroom-service "http://$(listening admission service)" >"$folder/concert.log" 2>&1
until_ready concert public

public=http://$(listening admission public)
api=$public/v1/queues/$queue
cat <<END

Anteroom is running. Ctrl-C ends it and leaves nothing behind.

  the concert      http://$(listening concert public)/ in a browser: wait, choose a seat, pay;
                   a normal window and a private window are two visitors
  waiting page     $public/queues/$queue
  API              $api, described at $public/openapi.json
  console          http://$(listening admission service)/console for operators: watch, pause, open
  service port     http://$(listening admission service), described at /openapi.json
  metrics          http://$(listening admission metrics)/metrics (admission)
                   http://$(listening scheduler metrics)/metrics (scheduler)
                   http://$(listening issuer metrics)/metrics (issuer)
  Redis            $shown
  logs             $folder/*.log

Join, get your place, authorize a request as a gateway does. Repeat all three: the line grows.

  TOKEN=\$(curl -s -X POST $api/tokens -H 'content-type: application/json' -d '{}' | sed 's/.*"token":"\([^"]*\)".*/\1/'); echo "\$TOKEN"
  curl -s -w '\n' $api/token -H "x-anteroom-token: \$TOKEN"
  curl -s -i -w '\n' $api/authorize -H "x-anteroom-token: \$TOKEN"

END

while true; do
  watch
  pause 0.5
done
