#!/bin/sh
# One run of pgbench and what the machine does, in files that `steelyard import FOLDER --by-folder` reads.
#   sh capture.sh OPTION BLOCK CLIENTS SECONDS [options of pgbench]     e.g. sh capture.sh prepared 1 16 60 -M prepared
# Files: OPTION/block-BLOCK/{pgbench.txt,pgbench_log.*,vmstat.txt}; the connection is that of PGHOST, PGUSER ...
# Let options take turns within a block: a 1, b 1, b 2, a 2 ...
set -eu
option=${1:?OPTION} block=${2:?BLOCK} clients=${3:?CLIENTS} seconds=${4:?SECONDS}
shift 4
folder=$option/block-$block
mkdir -p "$folder"
export LC_ALL=C
started=
trap 'for job in $started; do kill "$job" 2>/dev/null || true; done' EXIT
trap 'exit 130' INT TERM
if command -v vmstat >/dev/null; then vmstat -t 1 "$((seconds + 1))" >"$folder/vmstat.txt" & started="$started $!"; fi
pgbench -c "$clients" -T "$seconds" -P 1 -l --log-prefix="$folder/pgbench_log" "$@" >"$folder/pgbench.txt" 2>&1 ||
    { cat "$folder/pgbench.txt"; exit 1; }
wait
ls "$folder"
