#!/bin/sh
# Oracle during one run, in files that `steelyard import FOLDER --by-folder` reads.
#   SQLPLUS="sqlplus -S / as sysdba" sh capture.sh OPTION BLOCK SECONDS
# Files: OPTION/block-BLOCK/{latches,result-cache}.txt
#   latches       v$latch before and after the run: the difference counts
#   result-cache  v$result_cache_statistics every 10 s
# A report of AWR (text or HTML) or Statspack of the same time may be added to the folder.
set -eu
option=${1:?OPTION} block=${2:?BLOCK} seconds=${3:?SECONDS}
folder=$option/block-$block
SQLPLUS=${SQLPLUS:-sqlplus -S / as sysdba}
mkdir -p "$folder"
: >"$folder/latches.txt"
latches() {
    $SQLPLUS >>"$folder/latches.txt" <<'SQL'
set pagesize 50000 linesize 200 feedback off numwidth 20
column name format a64
select name, gets, misses, sleeps, spin_gets, wait_time from v$latch order by name;
SQL
}
latches
readings=`expr "$seconds" / 10`
while [ "$readings" -gt 0 ]; do
    $SQLPLUS >>"$folder/result-cache.txt" <<'SQL'
set pagesize 50000 linesize 200 feedback off numwidth 20
column name format a40
column value format a40
select id, name, value from v$result_cache_statistics order by id;
SQL
    readings=`expr "$readings" - 1`
    sleep 10
done
latches
ls "$folder"
