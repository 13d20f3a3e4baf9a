#!/bin/sh
# Before Redis starts: takes off the end of its file of writes what a stop of the machine left there, half a script or
# a spoilt block. Redis alone starts with half a script open, and executes it at the start after that.
# Needs nothing but redis-check-aof.
set -eu
manifest=${1:-/data/appendonlydir/appendonly.aof.manifest}
# More than two seconds can write is no torn end: somebody has to look (docs/OPERATIONS.md, "The file of writes").
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
