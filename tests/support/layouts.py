"""A small report of each format, in the layout of its source; numbers are our own."""

# reports have long lines
# ruff: noqa: E501

from __future__ import annotations

SYSMON_THREADED = """\
===============================================================================
      Sybase Adaptive Server Enterprise System Performance Report
===============================================================================

Server Version:        Adaptive Server Enterprise/16.0 SP03 PL01/EBF 1 SMP/
                       P/x86_64/Enterprise Linux/ase160/1/64-bit/FBO/
                       Sat Nov 21 04:05:39 2015
Run Date:              Mar 02, 2026
Sampling Started at:   Mar 02, 2026 10:00:00
Sampling Ended at:     Mar 02, 2026 10:01:00
Sample Interval:       00:01:00
Sample Mode:           No Clear
Server Name:           LAB_DS
===============================================================================

Kernel Utilization
------------------

  Engine Utilization (Tick %)   User Busy   System Busy    I/O Busy        Idle
  -------------------------  ------------  ------------  ----------  ----------
  ThreadPool : syb_default_pool
   Engine 0                        40.0 %         2.0 %       8.0 %      50.0 %
   Engine 1                        20.0 %         4.0 %       6.0 %      70.0 %
  ThreadPool : reports_pool
   Engine 2                        30.0 %         0.0 %       1.0 %      69.0 %

  CPU Yields by Engine            per sec      per xact       count  % of total
  -------------------------  ------------  ------------  ----------  ----------
  ThreadPool : syb_default_pool
   Engine 0
      Full Sleeps                    50.0           5.0        3000     100.0 %

  Thread Utilization (OS %)     User Busy   System Busy        Idle
  -------------------------  ------------  ------------  ----------
  ThreadPool : syb_blocking_pool : no activity during sample

  ThreadPool : syb_default_pool
   Thread 2    (Engine 0)          41.0 %         3.0 %      56.0 %
   Thread 3    (Engine 1)          22.0 %         4.0 %      74.0 %

  Adaptive Server threads are consuming 0.7 CPU units.
  Throughput (committed xacts per CPU unit) : 14.3

===============================================================================

Transaction Profile
-------------------

  Transaction Summary             per sec      per xact       count  % of total
  -------------------------  ------------  ------------  ----------  ----------
    Committed Xacts                  10.0           n/a         601     n/a

===============================================================================

Procedure Cache Management        per sec      per xact       count  % of total
---------------------------  ------------  ------------  ----------  ----------
  Procedure Requests                 20.0           2.0        1203       n/a
  Object Manager Spinlock Contention  n/a           n/a         n/a       1.5 %

  SQL Statement Cache:
    Statements Found in Cache         5.0           0.5         300       n/a

  Tuning Recommendations for Procedure cache management
  -----------------------------------------------------
  - Consider increasing the 'procedure cache size'
    configuration parameter.
=============================== End of Report =================================
"""

SYSMON_PROCESS = """\
===============================================================================
      Sybase Adaptive Server Enterprise System Performance Report
===============================================================================
Server Version        Adaptive Server Enterprise/15.7
Server Name           OLD_DS
Run Date              Mar 02, 2026
Sampling Started at   Mar 02, 2026 120500
Sampling Ended at     Mar 02, 2026 120530
Sample Interval       000030
Sample Mode           Reset Counters
===============================================================================
Kernel Utilization
------------------
  Your Runnable Process Search Count is set to 2000
  and IO Polling Process Count is set to 10
  Engine Busy Utilization        CPU Busy   IO Busy       Idle
  ------------------------       --------   --------   --------
    Engine 0                       60.0 %     10.0 %     30.0 %
    Engine 1                       40.0 %     20.0 %     40.0 %
  ------------------------       --------   --------   --------
  Summary           Total         100.0 %     30.0 %     70.0 %
                  Average          50.0 %     15.0 %     35.0 %
  CPU Yields by Engine            per sec      per xact       count  % of total
  -------------------------  ------------  ------------  ----------  ----------
    Engine 0                         10.0           1.0         301      50.0 %
    Engine 1                         10.0           1.0         301      50.0 %
  -------------------------  ------------  ------------  ----------
  Total CPU Yields                   20.0           2.0         602
"""

MONITORCONFIG = """\
Usage information at date and time: Mar  2 2026 10:00AM.

 Name                       Num_free    Num_active  Pct_act Max_Used    Reuse_cnt   Instance_Name
 -------------------------  ----------- ----------- ------- ----------- ----------- -------------
 procedure cache size              7000        3000   30.00        3100           0 NULL
 number of open objects             500         500   50.00         500          12 NULL

(2 rows affected)
Usage information at date and time: Mar  2 2026 10:05AM.

 Name                       Num_free    Num_active  Pct_act Max_Used    Reuse_cnt   Instance_Name
 -------------------------  ----------- ----------- ------- ----------- ----------- -------------
 procedure cache size                20        9980   99.80        9980           7 NULL
"""

MONITOR_TABLES = """\
 InstanceID TotalSizeKB UsedSizeKB  NumStatements NumSearches   HitCount
 ---------- ----------- ----------- ------------- ------------- -------------
          0      100000        4200            31          9000          8990

(1 row affected)
 SpinlockName               Grabs                Spins                Waits                Contention
 -------------------------- -------------------- -------------------- -------------------- -----------
 default data cache                      1000000              5000000                 4500           0
 Resource->rdesmgr_spin                   200000               300000                   10           0
"""

MONITOR_CSV = """\
SpinlockName,Grabs,Spins,Waits,Contention
default data cache,1000,20,30,3
"""

DBXTUNE_CSV = """\
"SessionStartTime","SessionSampleTime","CmSampleTime","CmSampleMs","CmRowState","Name","Num_free","Num_active","Pct_act","Max_Used"
"2026-03-02 10:00:00","2026-03-02 10:00:00","2026-03-02 10:00:00","0","0","procedure cache size","7000","3000","30.0","3100"
"2026-03-02 10:00:00","2026-03-02 10:05:00","2026-03-02 10:05:00","300000","0","procedure cache size","20","9980","99.8","9980"
"""

_DBXTUNE_HEAD = '"SessionStartTime","SessionSampleTime","CmSampleTime","CmSampleMs","CmRowState",'
_DBXTUNE_FIRST = '"2026-03-02 10:00:00","2026-03-02 10:00:00.123","2026-03-02 10:00:00.1","0","0",'
_DBXTUNE_NEXT = '"2026-03-02 10:00:00","2026-03-02 10:01:00.123","2026-03-02 10:01:00.1","60000","0",'
DBXTUNE_ENGINES = f"""\
{_DBXTUNE_HEAD}"EngineNumber","Status","CPUTime","ContextSwitches"
{_DBXTUNE_FIRST}"0","online","12.5","1000"
{_DBXTUNE_NEXT}"0","online","","4000"
"""
DBXTUNE_CACHE = f"""\
{_DBXTUNE_HEAD}"TotalSizeKB","UsedSizeKB"
{_DBXTUNE_NEXT}"20480","20100"
"""
DBXTUNE_SPINLOCKS = f"""\
{_DBXTUNE_HEAD}"SpinlockName","Grabs","Spins","Waits"
{_DBXTUNE_FIRST}"default data cache","1000000","5000000","4500"
{_DBXTUNE_NEXT}"default data cache","500","1","10"
"""

AWR = """\
WORKLOAD REPOSITORY report for

              Snap Id      Snap Time      Sessions Curs/Sess
            --------- ------------------- -------- ---------
Begin Snap:      1001 02-Mar-26 10:00:00        45       2.1
  End Snap:      1002 02-Mar-26 10:10:00        46       2.3
   Elapsed:               10.00 (mins)
   DB Time:               12.34 (mins)

Instance Activity Stats                        DB/Inst: LAB/lab  Snaps: 1001-1002

Statistic                                     Total     per Second     per Trans
-------------------------------- ------------------ -------------- -------------
user commits                                 59,000           98.3           1.0
user rollbacks                                1,000            1.7           0.0

Latch Activity  DB/Inst: LAB/lab  Snaps: 1001-1002

                                           Pct    Avg   Wait                 Pct
                                    Get    Get   Slps   Time       NoWait NoWait
Latch Name                     Requests   Miss  /Miss    (s)     Requests   Miss
------------------------ -------------- ------ ------ ------ ------------ ------
cache buffers chains      4,000,000,000    0.0    0.0      2            0    N/A
undo global data              2,453,181    0.0    0.0      0            0    N/A
wide latch                      #######    0.0    0.0      0            0    N/A
                    ------------------------------------------------------

Latch Sleep Breakdown  DB/Inst: LAB/lab  Snaps: 1001-1002

                                       Get                                 Spin
Latch Name                        Requests       Misses      Sleeps        Gets
-------------------------- --------------- ------------ ----------- -----------
cache buffers chains         4,000,000,001      192,545         122     192,419
                    ------------------------------------------------------
"""

AWR_HTML = """\
<html><head><title>AWR Report for DB: LAB</title></head><body>
<h1>WORKLOAD REPOSITORY report for</h1>
<table border="0"><tr><th></th><th>Snap Id</th><th>Snap Time</th></tr>
<tr><td>Begin Snap:</td><td>1001</td><td>02-Mar-26 10:00:00</td></tr>
<tr><td>End Snap:</td><td>1002</td><td>02-Mar-26 10:10:00</td></tr></table>
<h3>Latch Sleep Breakdown</h3>
<table border="0" summary="This table displays latch sleep breakdown">
<tr><th>Latch Name</th><th>Get Requests</th><th>Misses</th><th>Sleeps</th><th>Spin Gets</th></tr>
<tr><td>shared pool</td><td align="right">6,012,944</td><td>1,423</td><td>42</td><td>1,382</td></tr>
</table></body></html>
"""

V_LATCH = """\
NAME                         GETS     MISSES     SLEEPS  SPIN_GETS  WAIT_TIME
---------------------- ---------- ---------- ---------- ---------- ----------
Result Cache: RC Latch       1000         10          1          9        500

NAME                         GETS     MISSES     SLEEPS  SPIN_GETS  WAIT_TIME
---------------------- ---------- ---------- ---------- ---------- ----------
Result Cache: RC Latch     501001       2010          5       2005       1500

2 rows selected.
"""

RESULT_CACHE = """\
        ID NAME                                VALUE
---------- ------------------------------ ----------
         2 Block Count Maximum                  1024
         3 Block Count Current                   512
         5 Create Count Success                  480
         7 Find Count                         250000
"""

LOCKMETER = """\
System: Linux lab 2.6.8 #7 SMP
Total counts
All (8) CPUs
Start time: Mon Mar  2 10:00:00 2026
Delta Time: 60.50 sec.

SPINLOCKS         HOLD            WAIT
  UTIL  CON    MEAN(  MAX )   MEAN(  MAX )(% CPU)     TOTAL NOWAIT SPIN RJECT  NAME

        3.0%  2.0us( 100ms)   12ms( 488ms)(35.1%)   1000000 97.0%  3.0% 0.00%  *TOTAL*

  7.5% 50.0%  1.7us( 257us)  175us(  29ms)( 4.7%)      2000 50.0% 17.0% 33.0%  net_device->queue_lock
  1.2% 80.0%  0.7us( 125us)    0us                     1000 20.0%    0% 80.0%    net_tx_action+0x240

RWLOCK READS   HOLD    MAX  RDR BUSY PERIOD      WAIT
  UTIL  CON    MEAN   RDRS   MEAN(  MAX )   MEAN(  MAX )( %CPU)     TOTAL NOWAIT SPIN  NAME

  0.1%  1.0%  0.5us      2  0.6us(  20us)  2.0us(  50us)(0.01%)     40000 99.0%  1.0%  tasklist_lock

RWLOCK WRITES     HOLD           WAIT (ALL)           WAIT (WW)
  UTIL  CON    MEAN(  MAX )   MEAN(  MAX )( %CPU)   MEAN(  MAX )     TOTAL NOWAIT SPIN(  WW )  NAME

  0.1%  2.0%  0.9us(  20us)  3.0us(  50us)(0.01%)  1.0us( 5.0us)       500 98.0%  2.0%( 1.0%)  tasklist_lock

Read Lock table overflowed.
"""

LOCKMETER_WRAPPED = """\
SPINLOCKS HOLD WAIT
  UTIL CON MEAN( MAX ) MEAN( MAX )(% CPU) TOTAL NAME

       2.0% 5.3us(8532us) 9.5us( 414us)(0.07%) 65591728 *TOTAL*

15.3% 0.74% 63us( 162us)
 10us( 202us)(0.00%) 1326034 do_ipsintr
                                             +0x24
"""

LOCK_STAT = """\
lock_stat version 0.4
-----------------------------------------------------------------------------------------------------
                              class name    con-bounces    contentions   waittime-min   waittime-max waittime-total   waittime-avg    acq-bounces   acquisitions   holdtime-min   holdtime-max holdtime-total   holdtime-avg
-----------------------------------------------------------------------------------------------------

                         &mm->mmap_sem-W:            46             84           0.26         939.10       16371.53         194.90          47291        2922365           0.16      200000.00     2922365.00           1.00
                         ---------------
                         &mm->mmap_sem             45          [<ffffffff8108a2b1>] vm_munmap+0x41/0x80
                         ---------------
                         &mm->mmap_sem             84          [<ffffffff8108a2b1>] vm_munmap+0x41/0x80
"""

LOCK_STAT_OLD = """\
lock_stat version 0.3
                              class name    con-bounces    contentions   waittime-min   waittime-max waittime-total    acq-bounces   acquisitions   holdtime-min   holdtime-max holdtime-total
                              &zone->lock:            2              3           0.50           2.50           4.50           100           2000           0.10          10.00        4000.00
"""

PERF_LOCK = """\
 contended   total wait     max wait     avg wait         type   caller

         6      6.03 s       6.03 s       1.00 s      spinlock   __tick_broadcast_oneshot_control+0xc0
        20    400.00 us     90.00 us     20.00 us      rwsem:W   do_mmap+0x5b
"""

READPROFILE = """\
 27000000 default_idle                             70763.4844
  1000000 schedule                                   812.3400
   500000 do_page_fault                              120.0100
 62000000 total                                        9.6980
"""

KERNPROF = """\
        TOTAL_SAMPLES 3137055
        USER [c0125ef0]: 2159334 (68.8%)
        default_idle [c0105310]: 759032 (24.2%)
        do_ipsintr [c0213810]: 76169 ( 2.4%)
"""

PERF_REPORT = """\
# To display the perf.data header info, please use --header/--header-only options.
#
# Samples: 200  of event 'cpu-clock'
# Event count (approx.): 1140703375
#
# Overhead  Command  Shared Object         Symbol
# ........  .......  ....................  ...............................
#
    27.50%  mariadbd  mariadbd              [.] row_search_mvcc(unsigned char*, page_cur_mode_t)
    10.00%  mariadbd  [kernel.kallsyms]     [k] futex_wake
     5.00%  V8 DefaultWorke  vl.so         [.] 0x0000000003caba11
     2.50%  swapper   [kernel.kallsyms]     [k] default_idle
"""

PERF_SCRIPT = """\
bash  1064  6402.329253:    5025125 cpu-clock:
\tffffffff821fd411 down_write+0x21 ([kernel.kallsyms])
\t           d4353 _Fork+0x23 (/usr/lib/libc.so.6)

bash  1064 [001]  6404.329253:    5025125 cpu-clock:
\tffffffff821fd411 down_write+0x25 ([kernel.kallsyms])
\t           d4353 _Fork+0x23 (/usr/lib/libc.so.6)

swapper     0  6403.000000:    5025125 cpu-clock:
\tffffffff821fd411 default_idle+0x21 ([kernel.kallsyms])

"""

VMSTAT = """\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC
 9  0      0 18155928  15200 5211292    0    0  1020  1417 1733 12281 42 14 43  0  1 2026-03-02 10:00:00
 4  0      0 18155928  15200 5211292    0    0   512   256 1004 35737 70 20 10  0  0 2026-03-02 10:00:01
 2  1      0 18155000  15200 5211292    0    0   996     0 2040 46877 60 10 20 10  0 2026-03-02 10:00:02
"""

VMSTAT_24 = """\
   procs                      memory      swap          io     system      cpu
 r  b  w   swpd   free   buff  cache   si   so    bi    bo   in    cs us sy id
 1  0  0      0 430412  22956 415696    0    0     4     6  106   132  1  2 97
"""

MPSTAT = """\
Linux 6.1.0 (lab) \t03/27/26 \t_x86_64_\t(2 CPU)

10:00:00     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
10:00:01     all   50.00    0.00   10.00    5.00    0.00    0.00    0.00    0.00    0.00   35.00
10:00:01       0   60.00    0.00   10.00    5.00    0.00    0.00    0.00    0.00    0.00   25.00
10:00:02     all   70.00    0.00   10.00    0.00    0.00    0.00    0.00    0.00    0.00   20.00
10:00:02       0   80.00    0.00   10.00    0.00    0.00    0.00    0.00    0.00    0.00   10.00
Average:     all   60.00    0.00   10.00    2.50    0.00    0.00    0.00    0.00    0.00   27.50
"""

PIDSTAT = """\
Linux 6.1.0 (lab) \t2026-03-02 \t_x86_64_\t(2 CPU)

10:00:00 AM   UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
10:00:01 AM   999      4711   55.00    5.00    0.00    1.00   60.00     1  postgres: lab lab idle
10:00:02 AM   999      4711   45.00    5.00    0.00    2.00   50.00     0  postgres: lab lab idle
"""

IOSTAT = """\
Linux 6.1.0 (lab) \t03/27/26 \t_x86_64_\t(2 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           1,00    0,00    1,00    0,50    0,00   97,50

Device            r/s     rkB/s   w/s     wkB/s  %util
sda              1,00     40,00  2,00     80,00   0,10

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          40,00    0,00   10,00   20,00    0,00   30,00

Device            r/s     rkB/s   w/s     wkB/s  %util
sda            100,00   4000,00 50,50   2000,00  62,50
"""

SAR = """\
Linux 6.1.0 (lab) \t2026-03-02 \t_x86_64_\t(2 CPU)

23:59:59        CPU     %user     %nice   %system   %iowait    %steal     %idle
00:00:00        all     40.00      0.00     10.00      0.00      0.00     50.00
00:00:01        all     60.00      0.00     10.00      0.00      0.00     30.00
Average:        all     50.00      0.00     10.00      0.00      0.00     40.00
"""

IOSTAT_TIMES = """\
Linux 6.1.0 (lab) \t2026-03-02 \t_x86_64_\t(2 CPU)

2026-03-02T10:00:00+0000
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          28.12   38.92   12.95    2.84    0.04   17.13

Device            r/s     rkB/s     w/s     wkB/s  %util
vda            237.93   7987.46  241.22   6785.18  10.00

2026-03-02T10:00:02+0000
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           1.50   80.00    8.50    4.00    0.00    6.00

Device            r/s     rkB/s     w/s     wkB/s  %util
vda             10.00     40.00    2.00     80.00  20.00

2026-03-02T10:00:04+0000
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           1.50   60.00    8.50    0.00    0.00   30.00

"""

SAR_QUEUE = """\
Linux 6.1.0 (lab) \t2026-03-02 \t_x86_64_\t(2 CPU)

10:00:00        CPU     %user     %nice   %system   %iowait    %steal     %idle
10:00:01        all      1.49     90.51      8.00      0.00      0.00      0.00

10:00:00      runq-sz  plist-sz   ldavg-1   ldavg-5  ldavg-15   blocked
10:00:01            5       142      4.07      5.23      6.55         0

Average:      runq-sz  plist-sz   ldavg-1   ldavg-5  ldavg-15   blocked
Average:            5       142      4.07      5.23      6.55         0
"""

SADF = """\
{"sysstat": {"hosts": [{"nodename": "lab", "number-of-cpus": 2, "statistics": [
 {"timestamp": {"date": "2026-03-02", "time": "10:00:00", "utc": 1, "interval": 1},
  "cpu-load": [{"cpu": "all", "user": 67.84, "system": 12.16, "iowait": 10.00, "idle": 10.00}],
  "queue": {"runq-sz": 25, "ldavg-1": 18.85}},
 {"timestamp": {"date": "2026-03-02", "time": "10:00:02", "utc": 1, "interval": 1},
  "cpu-load": [{"cpu": "all", "user": 40.00, "system": 20.00, "iowait": 0.00, "idle": 40.00}],
  "queue": {"runq-sz": 5, "ldavg-1": 18.85}}]}]}}
"""

SOLARIS_MPSTAT = """\
CPU minf mjf xcal  intr ithr  csw icsw migr smtx  srw syscl  usr sys  st idl
  0  236   0   81   227    8   81    1    4    6    0   505    1   1   0  98
  1  236   0   81   227    8   81    1    4    6    0   505    1   1   0  98
CPU minf mjf xcal  intr ithr  csw icsw migr smtx  srw syscl  usr sys  st idl
  0   20   0    8   200    8  400    9   40   66    0  9000   60  20   0  20
  1   20   0    8   200    8  400    9   40   66    0  9000   40  20   0  40
"""

SOLARIS_VMSTAT = """\
 kthr      memory            page            disk          faults      cpu
 r b w   swap  free  re  mf pi po fr de sr s0 s1 s2 s3   in   sy   cs us sy id
 0 0 0 900000 80000  10  20  0  0  0  0  0  1  0  0  0  400 1200  300  2  1 97
 5 0 0 900000 70000  10  20  0  0  0  0  0  1  0  0  0  900 8200 1300 62 18 20
"""

PRSTAT = """\
   PID USERNAME USR SYS TRP TFL DFL LCK SLP LAT VCX ICX SCL SIG PROCESS/LWPID
 74241 root     4.9 4.9 0.0 0.0 0.0 0.0  90 0.5 917  15 11K   0 dnx/29
123456verylonguser 60 9.9 0.0 0.0 0.0 0.1  30 0.5  2K  15 2M   0 dataserver/3
Total: 120 processes, 456 lwps, load averages: 0.53, 0.47, 0.45
"""

SOLARIS_LOCKSTAT = """\
Adaptive mutex spin: 41411 events in 5.011 seconds (8263 events/sec)

Count indv cuml rcnt     nsec Lock                   Caller
-------------------------------------------------------------------------------
13750  33%  33% 0.00       72 vm_page_queue_free_mtx vm_page_free_toq+0x12e
 8000  19%  52% 0.00      100 pcx_lock               pcx_get+0x5b
-------------------------------------------------------------------------------
"""

DISPADMIN = """\
# Time Sharing Dispatcher Configuration
RES=100

# ts_quantum  ts_tqexp  ts_slpret  ts_maxwait ts_lwait  PRIORITY LEVEL
        20         0        50           0        50        #     0
         2        49        59       32000        59        #    59
"""

MDB = """\
> ::cpuinfo -v
 ID ADDR             FLG NRUN BSPL PRI RNRN KRNRN SWITCH THREAD           PROC
  0 fffffffffbc3b8c0  1b    2    0  59   no    no t-0    ffffff00cd4b8c20 oracle
                       |    |
            RUNNING <--+    +-->  PRI THREAD           PROC
              READY                29 ffffff00cd4b8d40 java
             EXISTS                29 ffffff00cd4b8e60 java
             ENABLE
  1 ffffff00cd0e6a80  1f    0    0  -1   no    no t-12   ffffff0004005c20 (idle)
> ::memstat
Page Summary                Pages                MB  %Tot
------------     ----------------  ----------------  ----
Kernel                     221753              1732    6%
Free (freelist)           1000000              7812   27%
> ::thread
            ADDR    STATE     FLG PFLG SFLG   PRI  EPRI PIL             INTR
ffffff00cd4b8c20 onproc         0 2000    3    59     0   0              n/a
ffffff00cd4b8d40 run            0 2000    3    29     0   0              n/a
ffffff00cd4b8e60 run            0 2000    3    29     0   0              n/a
"""

PGBENCH = """\
pgbench (17.2)
starting vacuum...end.
progress: 1.0 s, 500.0 tps, lat 7.900 ms stddev 4.100, 0 failed
progress: 2.0 s, 520.0 tps, lat 7.600 ms stddev 4.000, 2 failed
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 2
query mode: prepared
number of clients: 4
number of threads: 2
maximum number of tries: 1
duration: 2 s
number of transactions actually processed: 1000
number of failed transactions: 2 (0.200%)
latency average = 7.750 ms
latency stddev = 4.050 ms
initial connection time = 31.495 ms
tps = 500.000000 (without initial connection time)
statement latencies in milliseconds and failures:
         0.002           0  \\set aid random(1, 100000 * :scale)
         0.548           0  BEGIN;
"""

PGBENCH_LOG = """\
0 1 1000 0 1772445600 500000
1 1 3000 0 1772445600 900000
0 2 1500 0 1772445601 100000
1 2 failed 0 1772445601 200000
0 3 skipped 0 1772445601 300000
"""

PGBENCH_AGGREGATE = """\
1772445600 217 126964 236577710 120 5729
1772445601 1693 999264 2753065532 84 9309
"""

SYSBENCH = """\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 2
Report intermediate results every 1 second(s)
Initializing random number generator from current time

Threads started!

[ 1s ] thds: 2 tps: 345.94 qps: 5540.10 (r/w/o: 4847.21/0.00/692.89) lat (ms,99%): 14.46 err/s: 0.00 reconn/s: 0.00
SQL statistics:
    queries performed:
        read:                            20804
        write:                           0
        other:                           2972
        total:                           23776
    transactions:                        1486   (371.50 per sec.)
    queries:                             23776  (5914.34 per sec.)
    ignored errors:                      3      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          4.0000s
    total number of events:              1486

Latency (ms):
         min:                                    0.73
         avg:                                    5.39
         max:                                   19.67
         99th percentile:                       13.70
         sum:                                 8016.72

Threads fairness:
    events (avg/stddev):           743.0000/1.00
    execution time (avg/stddev):   4.0084/0.00
"""

HAMMERDB = """\
TRANSACTION RESPONSE TIMES
{
  "NEWORD": {
    "elapsed_ms": "60000.0",
    "calls": "1802",
    "avg_ms": "10.186"
  }
}

TRANSACTION COUNT
{"MariaDB tpm": {
    "2026-03-02 10:00:00": "0",
    "2026-03-02 10:00:10": "185196",
    "2026-03-02 10:00:20": "309240"
  }}

HAMMERDB RESULT
[
  "67FD3345479A03E263133333",
  "2026-03-02 10:00:00",
  "24 Active Virtual Users configured",
  "TEST RESULT : System achieved 128176 NOPM from 300000 MariaDB TPM"
]
"""

BENCHBASE = """\
{"Start timestamp (milliseconds)": 1772445600000, "Current Timestamp (milliseconds)": 1772445660000,
 "Elapsed Time (nanoseconds)": 60000000000, "DBMS Type": "POSTGRES", "DBMS Version": "17",
 "Benchmark Type": "tpcc", "Final State": "EXIT", "Measured Requests": 6010,
 "Latency Distribution": {"Average Latency (microseconds)": 2500, "99th Percentile Latency (microseconds)": 9000},
 "Throughput (requests/second)": 100.16, "Goodput (requests/second)": 100.0}
"""

BENCHBASE_RAW = """\
Transaction Type Index,Transaction Name,Start Time (microseconds),Latency (microseconds),Worker Id (start number),Phase Id (index in config file)
1,NewOrder,1772445600.500000,2000,0,0
2,Payment,1772445600.900000,1000,1,0
1,NewOrder,1772445601.500000,3000,0,0
"""

GO_TPC = """\
Finished
[Summary] NEW_ORDER - Takes(s): 60.0, Count: 1200, TPM: 1200.1, Sum(ms): 6000.0, Avg(ms): 5.0, 50th(ms): 4.7, 99th(ms): 13.1, Max(ms): 52.4
[Summary] NEW_ORDER_ERR - Takes(s): 60.0, Count: 3, TPM: 3.0, Sum(ms): 6.0, Avg(ms): 2.0, 50th(ms): 2.1, 99th(ms): 2.1, Max(ms): 2.1
[Summary] PAYMENT - Takes(s): 60.0, Count: 1470, TPM: 1470.2, Sum(ms): 2940.0, Avg(ms): 2.0, 50th(ms): 1.9, 99th(ms): 8.1, Max(ms): 12.4
tpmC: 1200.1, tpmTotal: 2670.3, efficiency: 93.6%
"""

SPECJBB = """\
Calculating results
Minimum transactions by a warehouse = 120000
Maximum transactions by a warehouse = 126000
Difference (thread spread) = 6000 (5.00%)
throughput = 243639.70 SPECjbb2005 bops
"""

JMETER = """\
timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes
1772445600000,500,GET,200,OK,Users 1-1,text,true,,10
1772445600100,300,GET,200,"OK, well",Users 1-2,text,true,,10
1772445600900,200,GET,500,bad,Users 1-1,text,false,"no, really",10
"""

K6 = """\
{"type":"Metric","data":{"name":"http_req_duration","type":"trend","contains":"time"},"metric":"http_req_duration"}
{"type":"Point","data":{"time":"2026-03-02T10:00:00.5Z","value":4,"tags":null},"metric":"vus"}
{"type":"Point","data":{"time":"2026-03-02T10:00:00.6Z","value":12.5,"tags":{"expected_response":"true"}},"metric":"http_req_duration"}
{"type":"Point","data":{"time":"2026-03-02T10:00:01.6Z","value":20,"tags":{"expected_response":"false"}},"metric":"http_req_duration"}
"""

SERIES = "clients,per_s\n1,955.16\n2,1878.91\n"

# format by text
LAYOUTS = {
    SYSMON_THREADED: "ase/sysmon", SYSMON_PROCESS: "ase/sysmon", MONITORCONFIG: "ase/monitorconfig",
    MONITOR_TABLES: "ase/monitor_tables", MONITOR_CSV: "ase/monitor_tables",
    DBXTUNE_CSV: "ase/dbxtune", AWR: "oracle/awr",
    AWR_HTML: "oracle/awr", V_LATCH: "oracle/views", RESULT_CACHE: "oracle/views",
    LOCKMETER: "kernel/lockmeter", LOCKMETER_WRAPPED: "kernel/lockmeter", LOCK_STAT: "kernel/lock_stat",
    LOCK_STAT_OLD: "kernel/lock_stat", PERF_LOCK: "kernel/perf_lock", READPROFILE: "kernel/readprofile",
    KERNPROF: "kernel/readprofile", PERF_REPORT: "kernel/perf_report",
    PERF_SCRIPT: "kernel/perf_script", VMSTAT: "system/vmstat", VMSTAT_24: "system/vmstat",
    MPSTAT: "system/mpstat", PIDSTAT: "system/pidstat", IOSTAT: "system/iostat", SAR: "system/sar", IOSTAT_TIMES: "system/iostat", SAR_QUEUE: "system/sar",
    SADF: "system/sadf", SOLARIS_MPSTAT: "solaris/stat", SOLARIS_VMSTAT: "solaris/stat",
    PRSTAT: "solaris/prstat", SOLARIS_LOCKSTAT: "solaris/lockstat", DISPADMIN: "solaris/dispadmin",
    MDB: "solaris/mdb", PGBENCH: "drivers/pgbench", PGBENCH_LOG: "drivers/pgbench_log",
    PGBENCH_AGGREGATE: "drivers/pgbench_log", SYSBENCH: "drivers/sysbench", HAMMERDB: "drivers/hammerdb",
    BENCHBASE: "drivers/benchbase", BENCHBASE_RAW: "drivers/benchbase_raw", GO_TPC: "drivers/go_tpc",
    SPECJBB: "drivers/specjbb2005", JMETER: "drivers/jmeter", K6: "drivers/k6", SERIES: "tables/series",
}  # fmt: skip

PIDSTAT_ALL = """\
Linux 6.1.0-18-amd64 (db1) 	03/14/2026 	_x86_64_	(8 CPU)

# Time        UID       PID    %usr %system  %guest   %wait    %CPU   CPU  minflt/s  majflt/s     VSZ     RSS   %MEM  Command
10:00:01 AM   113      1021   40.00   10.00    0.00    2.00   50.00     3      1.00      0.00  220000   18000   0.11  postgres
10:00:01 AM   113      1022   20.00    5.00    0.00    1.00   25.00     1      0.00      0.00  220000   18000   0.11  postgres

# Time        UID       PID    %usr %system  %guest   %wait    %CPU   CPU  minflt/s  majflt/s     VSZ     RSS   %MEM  Command
10:00:02 AM   113      1021   42.00   10.00    0.00    2.00   52.00     5      1.00      0.00  220000   18000   0.11  postgres
10:00:02 AM   113      1022   22.00    5.00    0.00    1.00   27.00     2      0.00      0.00  220000   18000   0.11  postgres
"""

SAR_FILESYSTEMS = """\
Linux 6.1.0-18-amd64 (db1) 	03/14/2026 	_x86_64_	(8 CPU)

10:00:01     MBfsfree  MBfsused   %fsused  %ufsused     Ifree     Iused    %Iused FILESYSTEM
10:00:02        51200     10240     16.67     21.67   3900000    100000      2.50 /dev/sda1
10:00:03        51100     10340     16.83     21.83   3900000    100000      2.50 /dev/sda1

Summary:     MBfsfree  MBfsused   %fsused  %ufsused     Ifree     Iused    %Iused FILESYSTEM
Summary        51150     10290     16.75     21.75   3900000    100000      2.50 /dev/sda1
"""
