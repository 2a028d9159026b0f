#!/bin/sh
# One run of sysbench and what the machine does, in files that `steelyard import FOLDER --by-folder` reads.
#   sh capture.sh OPTION BLOCK CLIENTS SECONDS TEST [options of sysbench]
#   e.g. sh capture.sh pool 1 16 60 oltp_read_only --mysql-db=sbtest --tables=4
# Files: OPTION/block-BLOCK/{sysbench,vmstat}.txt. Let options take turns within a block: a 1, b 1, b 2, a 2 ...
set -eu
option=${1:?OPTION} block=${2:?BLOCK} clients=${3:?CLIENTS} seconds=${4:?SECONDS} test=${5:?TEST}
shift 5
folder=$option/block-$block
mkdir -p "$folder"
export LC_ALL=C
started=
trap 'for job in $started; do kill "$job" 2>/dev/null || true; done' EXIT
trap 'exit 130' INT TERM
if command -v vmstat >/dev/null; then vmstat -t 1 "$((seconds + 1))" >"$folder/vmstat.txt" & started="$started $!"; fi
sysbench "$test" --threads="$clients" --time="$seconds" --events=0 --report-interval=1 --percentile=99 "$@" run \
    >"$folder/sysbench.txt"
wait
ls "$folder"
