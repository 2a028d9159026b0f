"""Looking up past trades, and changing texts of them: Trade-Lookup and Trade-Update."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.workloads import Scripted
from steelyard.workloads.brokerage.draws import account, past_trade, security
from steelyard.workloads.brokerage.scale import Scale
from steelyard.workloads.kinds import Kind
from steelyard.workloads.steps import BEGIN, COMMIT, Step, execute, put, uniform, when

_TRADES = 20
_IDS = ", ".join(f":t{n}" for n in range(1, _TRADES + 1))
_SINCE = "t_dts >= (select t_dts from trade where t_id = :since)"
# the trades of each frame, as a table with the column `id`
_PAGES: Mapping[str, str] = {
    "numbers": f"(select t_id as id from trade where t_id in ({_IDS})) as page",
    "account": f"(select t_id as id from trade where t_ca_id = :a and {_SINCE} order by t_dts limit"
    f" {_TRADES})"
    " as page",
    "security": f"(select t_id as id from trade where t_s_symb = :symbol and {_SINCE} order by t_dts limit"
    f" {_TRADES}) as page",
}
_PARTS: Mapping[str, str] = {
    "trades": "select t_id, t_bid_price, t_exec_name, t_is_cash, tt_is_mrkt, t_trade_price from {page},"
    " trade,"
    " trade_type where t_id = id and tt_id = t_tt_id",
    "settlements": "select se_t_id, se_amt, se_cash_due_date, se_cash_type from {page}, settlement"
    " where se_t_id = id",
    "cash": "select ct_t_id, ct_amt, ct_dts, ct_name from {page}, cash_transaction where ct_t_id = id",
    "history": "select th_t_id, th_dts, th_st_id from {page}, trade_history where th_t_id = id order by"
    " th_dts",
}
_HOLDINGS: Mapping[str, str] = {
    "first trade": f"select t_id from trade where t_ca_id = :a and {_SINCE} order by t_dts limit 1",
    "holdings": "select hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty from holding_history where"
    " hh_h_t_id in"
    f" (select hh_h_t_id from holding_history where hh_t_id = :t) limit {_TRADES}",
}
_NEXT = "select t_id, t_dts from trade where {of} and t_dts > :moment order by t_dts limit 1"
_UPDATES: Mapping[str, str] = {
    "update names": "update trade set t_exec_name = case when t_exec_name like '% X %'"
    " then replace(t_exec_name, ' X ', ' ') else replace(t_exec_name, ' ', ' X ') end"
    f" where t_id in ({_IDS})",
    "since": "select t_dts from trade where t_id = :since",
    "next by account": _NEXT.format(of="t_ca_id = :a"),
    "next by security": _NEXT.format(of="t_s_symb = :symbol"),
    "update settlement": "update settlement set se_cash_type = case se_cash_type when 'Cash Account' then"
    " 'Cash'"
    " when 'Cash' then 'Cash Account' when 'Margin' then 'Margin Account' else 'Margin' end where se_t_id"
    " = :t",
    "update cash": "update cash_transaction set ct_name = case when ct_name like '% shares of %'"
    " then replace(ct_name, ' shares of ', ' Shares of ') else replace(ct_name, ' Shares of ', ' shares"
    " of ') end"
    " where ct_t_id = :t",
}


def lookups(scale: Scale) -> dict[str, Kind]:
    """By name, with the weights of the mix in thousandths."""
    texts = {
        f"{part} by {frame}": sql.format(page=page)
        for frame, page in _PAGES.items()
        for part, sql in _PARTS.items()
    }
    drawn = _drawn(scale)
    lookup = [*drawn, BEGIN, _frames((30, 60, 90), update=False), COMMIT]
    update = [*drawn, BEGIN, _frames((33, 66, 100), update=True), COMMIT]
    return {
        "trade-lookup": Kind({**texts, **_HOLDINGS}, Scripted(80, tuple(lookup))),
        "trade-update": Kind({**texts, **_UPDATES}, Scripted(20, tuple(update))),
    }


def _drawn(scale: Scale) -> list[Step]:
    numbers = [past_trade(f"t{n}", scale, distinct="trades") for n in range(1, _TRADES + 1)]
    frame = put("frame", uniform(1, 100))
    return [frame, *account(scale), *security(scale), past_trade("since", scale), *numbers]


def _frames(up_to: tuple[int, int, int], update: bool) -> Step:
    """By numbers, by account, by security, or holdings of a trade: per cent up to which each is chosen."""
    other = [] if update else [execute("first trade", {"t": "t_id"}, rows="found"), _holdings()]
    frames: list[Step] = other
    for last, frame in reversed(list(zip(up_to, _PAGES, strict=True))):
        change = _change(frame) if update else []
        frames = [when(["le", "frame", last], [*change, *_parts(frame)], frames)]
    return frames[0]


def _change(frame: str) -> list[Step]:
    """Of trades that are found in the order of their time, one after another."""
    if frame == "numbers":
        return [execute("update names")]
    change = execute("update settlement" if frame == "account" else "update cash")
    found = execute(f"next by {frame}", {"t": "t_id", "moment": "t_dts"}, rows="found")
    one = [found, when(["gt", "found", 0], [change])]
    return [execute("since", {"moment": "t_dts"}), {"do": "loop", "times": _TRADES, "steps": one}]


def _holdings() -> Step:
    return when(["gt", "found", 0], [execute("holdings")])


def _parts(frame: str) -> list[Step]:
    return [execute(f"{part} by {frame}") for part in _PARTS]
