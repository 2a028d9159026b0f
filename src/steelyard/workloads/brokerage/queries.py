"""The transactions that read, and Trade-Update: volume, positions, markets, securities, past trades."""

from collections.abc import Mapping

from steelyard.workloads import BEGIN, COMMIT, Kind, Scripted, Step, Steps, execute, percent, pick, put, when
from steelyard.workloads.brokerage.draws import (
    account,
    broker_list_length,
    brokers,
    name,
    past_trade,
    security,
    tax_number,
)
from steelyard.workloads.brokerage.generator import days_before
from steelyard.workloads.brokerage.scale import INDUSTRIES, SECTORS, Scale

_TRADES_SHOWN = 50
_HISTORY_SHOWN = 10
_CHANGE = (
    "select sum(s_num_out * dm_close) as old_value, sum(s_num_out * lt_price) as new_value from {source},"
    " security, last_trade, daily_market where {where} and s_symb = {symbol} and lt_s_symb = {symbol}"
    " and dm_s_symb = {symbol} and dm_date = cast(:day as date)"
)

_TRADES = 20
_IDS = ", ".join(f":t{n}" for n in range(1, _TRADES + 1))
_SINCE = "t_dts >= (select t_dts from trade where t_id = :since)"
# the trades of each frame, as a table with the column `id`
_PAGES = {
    "numbers": f"(select t_id as id from trade where t_id in ({_IDS})) as page",
    "account": f"(select t_id as id from trade where t_ca_id = :a and {_SINCE} order by t_dts limit"
    f" {_TRADES}) as page",
    "security": f"(select t_id as id from trade where t_s_symb = :symbol and {_SINCE} order by t_dts limit"
    f" {_TRADES}) as page",
}
_PARTS = {
    "trades": "select t_id, t_bid_price, t_exec_name, t_is_cash, tt_is_mrkt, t_trade_price from {page},"
    " trade, trade_type where t_id = id and tt_id = t_tt_id",
    "settlements": "select se_t_id, se_amt, se_cash_due_date, se_cash_type from {page}, settlement"
    " where se_t_id = id",
    "cash": "select ct_t_id, ct_amt, ct_dts, ct_name from {page}, cash_transaction where ct_t_id = id",
    "history": "select th_t_id, th_dts, th_st_id from {page}, trade_history where th_t_id = id order by"
    " th_dts",
}
_HOLDINGS = {
    "first trade": f"select t_id from trade where t_ca_id = :a and {_SINCE} order by t_dts limit 1",
    "holdings": "select hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty from holding_history where"
    f" hh_h_t_id in (select hh_h_t_id from holding_history where hh_t_id = :t) limit {_TRADES}",
}
_NEXT = "select t_id, t_dts from trade where {of} and t_dts > :moment order by t_dts limit 1"
_UPDATES = {
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
    " of ') end where ct_t_id = :t",
}


def queries(scale: Scale) -> dict[str, Kind]:
    """By name, with the weights of the mix in thousandths."""
    return {
        "trade-status": _kind(
            190, _TRADE_STATUS, [*account(scale), BEGIN, execute("trades"), execute("names"), COMMIT]
        ),
        "market-watch": _kind(180, _MARKET_WATCH, _market_watch(scale)),
        "security-detail": _kind(140, _SECURITY_DETAIL, _security_detail(scale)),
        "customer-position": _kind(130, _CUSTOMER_POSITION, _customer_position(scale)),
        "broker-volume": _broker_volume(scale),
    }


def _kind(weight: int, statements: Mapping[str, str], steps: Steps) -> Kind:
    return Kind(statements, Scripted(weight, tuple(steps)))


_TRADE_STATUS = {
    "trades": "select t_id, t_dts, st_name, tt_name, t_s_symb, t_qty, t_exec_name, t_chrg, s_name, ex_name"
    " from trade, status_type, trade_type, security, exchange where t_ca_id = :a and st_id = t_st_id"
    " and tt_id = t_tt_id and s_symb = t_s_symb and ex_id = s_ex_id order by t_dts desc limit"
    f" {_TRADES_SHOWN}",
    "names": "select c_l_name, c_f_name, b_name from customer_account, customer, broker where ca_id = :a"
    " and c_id = ca_c_id and b_id = ca_b_id",
}


_MARKET_WATCH = {
    "watch list": _CHANGE.format(
        source="watch_list, watch_item", where="wl_c_id = :c and wi_wl_id = wl_id", symbol="wi_s_symb"
    ),
    "account": _CHANGE.format(source="holding_summary", where="hs_ca_id = :a", symbol="hs_s_symb"),
    "industry": _CHANGE.format(
        source="(select s_symb as in_symb from industry, company, security where in_name = :industry"
        " and co_in_id = in_id and s_co_id = co_id) as of_industry",
        where="1 = 1",
        symbol="in_symb",
    ),
}


def _market_watch(scale: Scale) -> Steps:
    """A watch list 60 %, an account 35 %, an industry 5 %: all its securities by one statement."""
    return [
        *account(scale),
        name("industry", "Industry ", f"random(1, {INDUSTRIES})", 3),
        _day(),
        put("which", "random(1, 100)"),
        BEGIN,
        when(
            ":which <= 60",
            [execute("watch list")],
            [when(":which <= 95", [execute("account")], [execute("industry")])],
        ),
        COMMIT,
    ]


def _day() -> Step:
    days = days_before()
    return pick("day", list(days), f"random(1, {len(days)})")


_SECURITY_DETAIL = {
    "security": "select s_name, co_id, co_name, co_sp_rate, co_ceo, co_desc, co_open_date, co_st_id,"
    " s_num_out, s_start_date, s_exch_date, s_pe, s_52wk_high, s_52wk_high_date, s_52wk_low, s_52wk_low_date,"
    " s_dividend, s_yield, ex_desc, ex_name, ex_num_symb, ex_open, ex_close from security, company, exchange"
    " where s_symb = :symbol and co_id = s_co_id and ex_id = s_ex_id",
    "days": "select dm_date, dm_close, dm_high, dm_low, dm_vol from daily_market where dm_s_symb = :symbol"
    " and dm_date >= cast(:day as date) order by dm_date limit :rows",
    "last trade": "select lt_price, lt_open_price, lt_vol from last_trade where lt_s_symb = :symbol",
}


def _security_detail(scale: Scale) -> Steps:
    drawn = [*security(scale), _day(), put("rows", "random(5, 20)")]
    return [*drawn, BEGIN, execute("security"), execute("days"), execute("last trade"), COMMIT]


_CUSTOMER_POSITION = {
    "by tax number": "select c_id from customer where c_tax_id = :tax_number",
    "customer": "select c_st_id, c_l_name, c_f_name, c_tier, c_dob, c_ad_id, c_phone_1, c_phone_2, c_phone_3,"
    " c_email_1, c_email_2 from customer where c_id = :c",
    "accounts": "select ca_id, ca_bal, coalesce(sum(hs_qty * lt_price), 0) as assets from customer_account"
    " left join holding_summary on hs_ca_id = ca_id left join last_trade on lt_s_symb = hs_s_symb"
    " where ca_c_id = :c group by ca_id, ca_bal order by assets limit 10",
    "history": "select t_id, t_s_symb, t_qty, st_name, th_dts from (select t_id as id from trade"
    f" where t_ca_id = :a order by t_dts desc limit {_HISTORY_SHOWN}) as newest, trade, trade_history,"
    " status_type where t_id = id and th_t_id = id and st_id = th_st_id order by th_dts desc limit 30",
}


def _customer_position(scale: Scale) -> Steps:
    """Half by the tax number; half with the history of an account."""
    return [
        *account(scale),
        tax_number(":c"),
        put("by_tax_number", percent(50)),
        put("with_history", percent(50)),
        BEGIN,
        when(":by_tax_number", [execute("by tax number", {"c": "c_id"})]),
        execute("customer"),
        execute("accounts"),
        when(":with_history", [execute("history")]),
        COMMIT,
    ]


def _broker_volume(scale: Scale) -> Kind:
    names = ", ".join(f":broker{n}" for n in range(1, broker_list_length(scale) + 1))
    sector = name("sector", "Sector ", f"random(1, {SECTORS})", 2)
    volume = {
        "volume": "select b_name, sum(tr_qty * tr_bid_price) as volume from trade_request, broker, security,"
        " company, industry, sector where tr_b_id = b_id and s_symb = tr_s_symb and co_id = s_co_id"
        f" and in_id = co_in_id and sc_id = in_sc_id and b_name in ({names}) and sc_name = :sector"
        " group by b_name order by volume desc"
    }
    return _kind(49, volume, [*brokers(scale), sector, BEGIN, execute("volume"), COMMIT])


def lookups(scale: Scale) -> dict[str, Kind]:
    """By name, with the weights of the mix in thousandths."""
    texts = {
        f"{part} by {frame}": sql.format(page=page)
        for frame, page in _PAGES.items()
        for part, sql in _PARTS.items()
    }
    numbers = [past_trade(f"t{n}", scale, distinct="trades") for n in range(1, _TRADES + 1)]
    frame, since = put("frame", "random(1, 100)"), past_trade("since", scale)
    drawn = [frame, *account(scale), *security(scale), since, *numbers]
    lookup = [*drawn, BEGIN, _frames((30, 60, 90), update=False), COMMIT]
    update = [*drawn, BEGIN, _frames((33, 66, 100), update=True), COMMIT]
    return {
        "trade-lookup": _kind(80, {**texts, **_HOLDINGS}, lookup),
        "trade-update": _kind(20, {**texts, **_UPDATES}, update),
    }


def _frames(up_to: tuple[int, int, int], update: bool) -> Step:
    """By numbers, by account, by security, or holdings of a trade: per cent up to which each is chosen."""
    frames = (
        []
        if update
        else [execute("first trade", {"t": "t_id"}, rows="found"), when(":found > 0", [execute("holdings")])]
    )
    for last, frame in reversed(list(zip(up_to, _PAGES, strict=True))):
        change = _change(frame) if update else []
        frames = [
            when(f":frame <= {last}", [*change, *(execute(f"{part} by {frame}") for part in _PARTS)], frames)
        ]
    return frames[0]


def _change(frame: str) -> Steps:
    """Of trades that are found in the order of their time, one after another."""
    if frame == "numbers":
        return [execute("update names")]
    change = execute("update settlement" if frame == "account" else "update cash")
    found = execute(f"next by {frame}", {"t": "t_id", "moment": "t_dts"}, rows="found")
    one = [found, when(":found > 0", [change])]
    return [execute("since", {"moment": "t_dts"}), {"do": "loop", "times": _TRADES, "steps": one}]
