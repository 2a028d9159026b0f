#!/bin/sh
# What a Solaris or illumos machine does during one run, in files that `steelyard import FOLDER --by-folder` reads.
#   sh capture.sh OPTION BLOCK SECONDS       as root, for lockstat and mdb
# Files: OPTION/block-BLOCK/{vmstat,mpstat,prstat,lockstat,dispadmin,mdb}.txt, one reading every five seconds.
set -eu
option=${1:?OPTION} block=${2:?BLOCK} seconds=${3:?SECONDS}
folder=$option/block-$block
mkdir -p "$folder"
LC_ALL=C
export LC_ALL
readings=`expr "$seconds" / 5 + 1`
vmstat 5 "$readings" >"$folder/vmstat.txt" &
mpstat 5 "$readings" >"$folder/mpstat.txt" &
prstat -mL -c -n 100 5 "$readings" >"$folder/prstat.txt" &
# lockstat slows the machine down: a few seconds are enough
lockstat -n 200000 sleep 5 >"$folder/lockstat.txt" 2>&1 || rm -f "$folder/lockstat.txt"
dispadmin -c TS -g >"$folder/dispadmin.txt" || rm -f "$folder/dispadmin.txt"
printf '::cpuinfo -v\n::memstat\n::thread\n' | mdb -k >"$folder/mdb.txt" || rm -f "$folder/mdb.txt"
wait
ls "$folder"
