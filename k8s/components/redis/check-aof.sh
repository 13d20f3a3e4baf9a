#!/bin/sh
# Runs before Redis starts. It removes what a power loss left at the end of the AOF: half a script,
# or a broken block. Redis alone would start with half a script, and execute it at the next start.
# It needs redis-check-aof only.
set -eu
manifest=${1:-/data/appendonlydir/appendonly.aof.manifest}
# More than 2 seconds of writes is not an incomplete end. An operator must repair it: see
# docs/how-to/redis.md, "Repair the AOF".
most=16777216

[ -e "$manifest" ] || exit 0
if found=$(redis-check-aof "$manifest" 2>&1); then
  exit 0
fi
echo "$found"
torn=${found##*diff=}
torn=${torn%%[!0-9]*}
if [ "$torn" -gt "$most" ]; then
  echo "the last $torn bytes of the file of writes cannot be read: too much for a stop of the machine" >&2
  exit 1
fi
echo y | redis-check-aof --fix "$manifest"
