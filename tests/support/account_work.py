"""Orders on accounts, by steps: the tables, the transaction, and the conditions that hold afterwards."""

from __future__ import annotations

from typing import Any

ACCOUNTS = 20
_ROWS = ", ".join(
    f"({n}, 100, {n}.50, {'null' if n % 5 == 0 else repr(f'its {n}')})" for n in range(1, ACCOUNTS + 1)
)
SCHEMA = (
    "create table account (id int primary key, balance int not null, price decimal(9,2), note varchar(20))",
    "create table line (nth {serial}, account int, number int, balance int, price decimal(9,2),"
    " note varchar(20))",
    f"insert into account values {_ROWS}",
)
WORK: dict[str, Any] = {
    "statements": [
        {"name": "read", "sql": "select note, balance, price as p from account where id = :id for update"},
        {
            "name": "line",
            "sql": "insert into line (account, number, balance, price, note)"
            " values (:id, :number, :balance, :price, :note)",
        },
        {"name": "write", "sql": "update account set balance = :left where id = :id"},
    ],
    "transactions": [
        {
            "name": "order",
            "weight": 1,
            "begin": True,
            "values": {"id": {"kind": "uniform", "low": 1, "high": ACCOUNTS + 2}},
            "steps": [
                {
                    "do": "statement",
                    "name": "read",
                    "take": {"note": "note", "balance": "balance", "price": "p"},
                    "rows": "found",
                },
                # two accounts do not exist
                {"do": "if", "condition": ["eq", "found", 0], "then": [{"do": "rollback"}]},
                {
                    "do": "set",
                    "value": "left",
                    "to": ["case", ["ge", "balance", 10], ["sub", "balance", 1], 100],
                },
                {
                    "do": "loop",
                    "times": 3,
                    "index": "number",
                    "steps": [{"do": "statement", "name": "line"}],
                },
                {"do": "statement", "name": "write"},
            ],
        }
    ],
}
RESET = ("update account set balance = 100", "delete from line")
# three lines per order; the newest balance follows from the lines; texts, NULL and decimals came through
CHECKS = (
    "select count(*) from line",
    # after 91 orders the balance begins again
    "select count(*) from account where 3 * (100 - balance) <>"
    " (select mod(count(*), 3 * 92) from line where line.account = account.id)",
    "select count(*) from line join account on account.id = line.account"
    " where line.price <> account.price or coalesce(line.note, '-') <> coalesce(account.note, '-')"
    " or line.number not in (1, 2, 3)",
    "select count(*) from line where note is null",
)
FIRST = "select account, number, balance, note from line order by nth limit 15"
