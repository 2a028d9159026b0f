"""What pgbench's own regression tests ask of scripts, as scripts of our own.

Cases after PostgreSQL, src/bin/pgbench/t/001_pgbench_with_server.pl and 002_pgbench_no_server.pl (PostgreSQL
Licence): expressions one by one, without debug(), which only prints; random values by their range.
"""

from __future__ import annotations

# run as `\set v EXPRESSION` and an insert of :v; :foo, :flag, :none and :zero are set before
EXPRESSIONS = (
    "abs(-4)",
    "greatest(5, 4, 3, 2)",
    "11 + least(-5, -4, -3, -2)",
    "int(7.3)",
    "17 / (4|1) + ( 4 + (7 >> 2))",
    "- (3 * 4 - (-(~ 1) + -(~ 0))) / -1 + 3 % -1",
    "10 + (0 + 0 * 0 - 0 / 1)",
    "10 + :scale",
    "64 % (((2 + 1 * 2 + (1 # 2) | 4 * (2 & 11)) - (1 << 2)) + 2)",
    "sqrt(+1.5 * 2.0) * abs(-0.8E1)",
    "double(1 + 1) * (-75.0 / :foo)",
    "pi() * 4.9",
    "greatest(4, 2, -1.17) * 4.0 * Ln(Exp(1.0))",
    "least(-5.18, .0E0, 1.0/0) * -3.3",
    "pow(-3,3)",
    "pow(2.0,10)",
    "pow(0,0)",
    "pow(0.0,0.0)",
    "pow(-2,-3)",
    "pow(-2.0,-3.0)",
    "power(-5.0,-5.0)",
    "pow(9223372036854775807, 2)",
    "pow(10,30)",
    "1.0 = 0.0 and 1.0 != 0.0",
    "0 = 1 Or 1.0 = 1",
    "case when 0 < 1 then 32 else 0 end",
    "case when false THEN -1 when 1 = 1 then 13 + 19 + 2.0 end",
    "case when (1 > 0) and (1 >= 0) and (0 < 1) and (0 <= 1) and (0 != 1) and (0 <> 1) then 35 end",
    "CASE \\\n WHEN (1.0 > 0.0) AND (0.0 <= 1.0) AND \\\n (0.0 != 1.0) THEN 36 \\\n ELSE 0 \\\n END",
    "CASE WHEN NOT FALSE THEN 3 * 12.3333334 END",
    "case when false then 0 when 1-1 <> 0 then 1 else 38 end",
    "10 + mod(13 * 7 + 12, 13) - mod(-19 * 11 - 17, 19)",
    "NOT (0 > 1) AND (1 <= 1) AND NOT (0 >= 1) AND NOT (false and true) AND (NOT :flag) AND NOT (NOT TRUE)",
    "NULL + NULL * exp(NULL)",
    "NOT (:none IS NOT NULL OR :flag IS NULL)",
    "(:none IS NULL AND :flag IS NOT NULL AND :flag NOTNULL)",
    ":none ISNULL AND NOT :none IS TRUE AND :none IS NOT FALSE",
    "CASE WHEN :none IS NULL THEN 46 ELSE NULL END",
    "CASE WHEN 1 THEN TRUE END AND CASE WHEN 1.0 THEN TRUE END AND CASE WHEN :none THEN NULL ELSE TRUE END",
    "hash(10, 5432)",
    "hash(10, 5432) = hash_murmur2(10, 5432)",
    "hash_fnv1a(10, 5432)",
    "hash(10) = hash(10, :default_seed)",
    "case when :zero = 0 then -1 else (1 / :zero) end",
    "case when :zero = 0 or (1 / :zero) < 0 then -1 else (1 / :zero) end",
    "case when :zero > 0 and (1 / :zero) < 0 then (1 / :zero) else 1 end",
    "-54.21E-2",
    ":scale",
    ":client_id",
    "-9223372036854775808",
    "-(-9223372036854775808 + 1)",
    "permute(0, 2) + permute(1, 2)",
    "permute(0, 5) + permute(1, 5) + permute(2, 5) + permute(3, 5) + permute(4, 5)",
    "permute(7, 1)",
    "permute(0, 2, 5431) + 10 * permute(1, 2, 5431) + 100 * permute(0, 2, 5433)",
    *(f"permute(9223372036854775797 - {n}, 9223372036854775797, 5432)" for n in range(1, 8)),
)

# a script whose rows in `told (n int, v text)` are compared
SCRIPTS = {
    "comments and quotes": """
\\sleep 1ms
/* off /* it's */ insert into told values (9, 'never'); */
/*+ SeqScan(told) */ insert into told values (1, (position('SeqScan' in current_query()) > 0)::text);
insert into told values (2, $x$;'$x$), (3, E'it\\'s;'), (4, 'a''b;'); -- ; insert it's
""",
    "semicolons within a command": """
create or replace rule also as on update to told do also (select 1; select 2);
create or replace function seven() returns int language sql
    begin atomic select 1; select case when true then 7 end; end;
insert into told values (1, seven()::text);
""",
    "names beyond ASCII": "\\set größe 5\ninsert into told values (:größe, 'x');\n",
    "branches": (
        "\\if 1 > 0\ninsert into told values (1, 'a');\n\\elif 0\ninsert into told values (1, 'b');\n"
        "\\else\ninsert into told values (1, 'c');\n\\endif\n"
        "\\if 1 < 0\ninsert into told values (2, 'a');\n\\elif 1 > 0\ninsert into told values (2, 'b');\n"
        "\\else\ninsert into told values (2, 'c');\n\\endif\n"
        "\\if 1 < 0\ninsert into told values (3, 'a');\n\\elif 1 < 0\ninsert into told values (3, 'b');\n"
        "\\else\ninsert into told values (3, 'c');\n\\endif\n"
        "\\if 1 = 0\ninsert into told values (4, 'a');\n\\elif 1 <> 0\ninsert into told values (4, 'b');\n"
        "\\endif\n"
    ),
    "gset": (
        "select 0 as i0 \\gset\nselect 1 as i1, 2 as i2 \\gset\nselect 3 as i3 \\gset x_\n"
        "\\set s :i0 + :i1 * 10 + :i2 * 100 + :x_i3 * 1000\n"
        "insert into told values (1, (:s)::text);\n"
        "select -7 as s \\gset\ninsert into told values (2, (:s)::text);\n"
    ),
    "sleep": (
        "\\set zero 0\n\\set one 1\n\\sleep :one ms\n\\sleep 100 us\n\\sleep 0 s\n\\sleep :zero\n"
        "insert into told values (1, 'slept');\n"
    ),
    "variables": (
        "begin;\n\\set foo 1\ninsert into told select :foo::int + :scale::int * :client_id::int, 'x';\nend;\n"
        "\\set v1 TRUE\n\\set v2 5432\n"
        "insert into told select 2, concat((:v1)::text, (:v2)::text);\n"
    ),
    "ranges": (
        "\\set u random(10, 19)\n\\set e random_exponential(100, 199, 10.0)\n"
        "\\set g random_gaussian(1000, 1999, 10.0)\n\\set z random_zipfian(1, 9, 1.3)\n"
        "insert into told select 1, 'in range' where (:u)::int between 10 and 19"
        " and (:e)::int between 100 and 199 and (:g)::int between 1000 and 1999"
        " and (:z)::int between 1 and 9;\n"
        "\\set size random(2, 1000)\n\\set v random(0, :size - 1)\n\\set p permute(:v, :size)\n"
        "\\set t 0 <= :p and :p < :size and :p = permute(:v + :size, :size)\n"
        "insert into told values (2, (:t)::text);\n"
    ),
    "accounts": (
        "\\set aid random(1, :scale * 100000)\nbegin;\n"
        "insert into told select 1, abalance::text from pgbench_accounts where aid = :aid;\ncommit;\n"
    ),
}

# each fails in pgbench, when it reads the script or when it runs it: line, script
FAILING = (
    (2, "-- text\n\\set i 1 +"),
    (2, "-- text\n\\set i noSuchFunction()"),
    (1, "\\set . 1"),
    (1, "\\set i 1/0"),
    (1, "\\set i :nosuchvariable"),
    (1, "\\set i ;"),
    (1, "\\set i random(5,3)"),
    (1, "\\set i random(-9223372036854775808, 9223372036854775807)"),
    (1, "\\set i random_gaussian(0, 10, 1.0)"),
    (1, "\\set i random_exponential(0, 10, 0.0)"),
    (1, "\\set i random_zipfian(0, 10, 1)"),
    (1, "\\set i random_zipfian(0, 10, 1000000)"),
    (1, "\\set i"),
    (1, "\\set"),
    (1, "\\set b NOT 0.0"),
    (1, "\\set i TRUE + 2"),
    (1, "\\set d ln(TRUE)"),
    (1, "\\set i CASE TRUE THEN 1 ELSE 0 END"),
    (1, "\\set b random(FALSE, TRUE)"),
    (1, "\\set d ln(1.0, 2.0)"),
    (1, "\\set i greatest()"),
    (1, "\\set i int(1E32)"),
    (1, "\\set i (1<<62) + (1<<62)"),
    (1, "\\set i 0 - (1<<62) - (1<<62) - (1<<62)"),
    (1, "\\set i 2 * (1<<62)"),
    (1, "\\set i -9223372036854775808 / -1"),
    (1, "\\sleep :nosuchvariable"),
    (1, "\\sleep too many args"),
    (1, "\\sleep"),
    (1, "\\sleep 1 week"),
    (1, "\\nosuchcommand"),
    (1, "\\set i permute(0, 0)"),
    (2, "-- no row\nselect where false \\gset"),
    (1, "\\gset"),
    (2, "\\set i +1\n\\gset"),
    (1, "select 1 \\gset a b"),
    (2, "select 1 as i \\gset\n\\gset"),
    (1, "drop table if exists no_such_table \\gset"),
    (2, "-- two rows\nselect 5432 as fail union select 5433 order by 1 \\gset"),
    (1, "begin;select 1;"),
    (2, "\\if 0\n\\elif bad begin\n\\endif"),
    (1, "\\else"),
    (1, "\\endif"),
    (1, "\\if 1"),
    (3, "\\if 0\n\\else\n\\else\n\\endif"),
)

# pgbench runs these; here they are errors with the line and the way around
UNSUPPORTED = (
    (2, "-- two commands at once\n\\; select 0 as i \\; select 5 as i \\gset"),
    (3, "\n-- rows of all\nselect 8 as i \\aset"),
    (2, "-- pipeline\n\\startpipeline\nselect 1;\n\\endpipeline"),
    (2, "select 1;\n\\syncpipeline"),
    (1, "\\endpipeline"),
    (2, "\\set one 1\n\\setshell another_one\\\n  echo \\\n    :one"),
    (2, "select 1;\n\\shell echo shell-echo-output"),
    (1, "\\set i debug(1)"),
)
