#!/bin/sh
# What a Linux machine does during one run, in files that `steelyard import FOLDER --by-folder` reads.
#   sh capture.sh OPTION BLOCK SECONDS       e.g. sh capture.sh threaded 1 60
# Files: OPTION/block-BLOCK/{vmstat,mpstat,iostat,pidstat,sar,perf-report,lock_stat}.txt, one reading per second.
# Start it with the load. A tool that is not installed is left out. perf needs root or perf_event_paranoid <= 1.
set -eu
option=${1:?OPTION} block=${2:?BLOCK} seconds=${3:?SECONDS}
folder=$option/block-$block
mkdir -p "$folder"
# no decimal commas, days that cannot be mistaken
export LC_ALL=C S_TIME_FORMAT=ISO
# whatever ends this: nothing of it goes on, and the kernel's setting is as before
started= lock_stat=
end() {
    for job in $started; do kill "$job" 2>/dev/null || true; done
    if [ -n "$lock_stat" ]; then echo "$lock_stat" >/proc/sys/kernel/lock_stat; fi
    rm -f "$folder/.perf.data" "$folder/.perf.trial"
}
trap end EXIT
trap 'exit 130' INT TERM
have() { command -v "$1" >/dev/null 2>&1; }
if have vmstat; then vmstat -t 1 "$((seconds + 1))" >"$folder/vmstat.txt" & started="$started $!"; fi
if have mpstat; then mpstat -P ALL 1 "$seconds" >"$folder/mpstat.txt" & started="$started $!"; fi
if have iostat; then iostat -xt 1 "$((seconds + 1))" >"$folder/iostat.txt" & started="$started $!"; fi
if have pidstat; then pidstat -u 1 "$seconds" >"$folder/pidstat.txt" & started="$started $!"; fi
if have sar; then sar -u -q 1 "$seconds" >"$folder/sar.txt" & started="$started $!"; fi
if have perf && perf record -a -g -F 99 -o "$folder/.perf.trial" -- sleep 0.1 >/dev/null 2>&1; then
    perf record -a -F 99 -o "$folder/.perf.data" -- sleep "$seconds" >/dev/null 2>&1 &
    started="$started $!"
fi
if [ -w /proc/lock_stat ]; then
    lock_stat=$(cat /proc/sys/kernel/lock_stat)
    echo 0 >/proc/lock_stat && echo 1 >/proc/sys/kernel/lock_stat
fi
wait
if [ -r /proc/lock_stat ]; then cat /proc/lock_stat >"$folder/lock_stat.txt"; fi
if [ -s "$folder/.perf.data" ]; then
    perf report --stdio -i "$folder/.perf.data" 2>/dev/null >"$folder/perf-report.txt"
fi
# a file without a row would be refused
find "$folder" -name '*.txt' -size 0 -exec rm -f {} +
ls "$folder"
