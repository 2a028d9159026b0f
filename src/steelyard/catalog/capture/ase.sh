#!/bin/sh
# ASE during one run, in files that `steelyard import FOLDER --by-folder` reads.
#   ISQL="isql -Usa -SLAB -Ppassword" sh capture.sh OPTION BLOCK SECONDS
# Files: OPTION/block-BLOCK/{sysmon,monitorconfig,spinlocks,caches}.txt
#   sysmon         one report of the run, without clearing the counters of others
#   monitorconfig  sp_monitorconfig every 10 s: a cache that fills and is never reclaimed
#   spinlocks      monSpinlockActivity at both ends; needs 'enable monitoring' and 'enable spinlock monitoring'
#   caches         monStatementCache every 10 s; needs 'enable stmt cache monitoring'
# The operating system's view of the same run: steelyard capture linux, or solaris, with the same OPTION and BLOCK.
set -eu
option=${1:?OPTION} block=${2:?BLOCK} seconds=${3:?SECONDS}
folder=$option/block-$block
# columns that are wrapped cannot be read
ISQL="${ISQL:?isql -U... -S... -P...} -w 2000"
mkdir -p "$folder"
interval=`printf '%02d:%02d:%02d' $((seconds / 3600)) $((seconds / 60 % 60)) $((seconds % 60))`
: >"$folder/spinlocks.txt"
spinlocks() {
    $ISQL >>"$folder/spinlocks.txt" <<SQL
select SpinlockName, sum(Grabs) Grabs, sum(Spins) Spins, sum(Waits) Waits from master..monSpinlockActivity group by SpinlockName
go
SQL
}
spinlocks
$ISQL >"$folder/sysmon.txt" <<SQL &
sp_sysmon "$interval", noclear
go
SQL
readings=`expr "$seconds" / 10`
while [ "$readings" -gt 0 ]; do
    $ISQL >>"$folder/monitorconfig.txt" <<SQL
sp_monitorconfig "procedure cache size"
go
SQL
    $ISQL >>"$folder/caches.txt" <<SQL
select InstanceID, TotalSizeKB, UsedSizeKB, NumStatements, NumSearches, HitCount, NumInserts, NumRemovals
from master..monStatementCache
go
SQL
    readings=`expr "$readings" - 1`
    sleep 10
done
wait
spinlocks
ls "$folder"
