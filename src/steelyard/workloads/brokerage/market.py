"""The market: Trade-Result for an order that it has executed, Market-Feed for prices on the ticker."""

from steelyard.workloads import BEGIN, COMMIT, Kind, Scripted, Steps, execute, percent, put, when
from steelyard.workloads.brokerage import trade_order
from steelyard.workloads.brokerage.draws import price_cents, puts, symbol, walk
from steelyard.workloads.brokerage.scale import Scale

_TICKER_QUEUE, _ENTRY = "prices on the ticker", ["s", "price", "quantity"]
# of 20 entries of a feed half are trades; the others are limits that a price meets, or prices of any security
_HALF = 10
_TRIGGERED = (
    " from trade_request where tr_s_symb = :symbol and ((tr_tt_id = 'TSL' and tr_bid_price >= :price * 0.01)"
    " or (tr_tt_id = 'TLS' and tr_bid_price <= :price * 0.01)"
    " or (tr_tt_id = 'TLB' and tr_bid_price >= :price * 0.01))"
)
_HOLDING = "select h_t_id, h_qty, h_price from holding where h_ca_id = :a and h_s_symb = :symbol order by"
_RESULT = {
    "trade": "select t_ca_id, t_tt_id, t_s_symb, t_qty, t_chrg * 100 as charge, t_lifo, t_is_cash,"
    " tt_is_sell, tt_name from trade, trade_type where t_id = :t and tt_id = t_tt_id",
    # all results of an account come one after another
    "account": "select ca_b_id, ca_c_id, ca_tax_st from customer_account where ca_id = :a for update",
    "holding summary": "select hs_qty from holding_summary where hs_ca_id = :a and hs_s_symb = :symbol"
    " for update",
    "insert summary": "insert into holding_summary (hs_ca_id, hs_s_symb, hs_qty) values (:a, :symbol,"
    " :now_held)",
    "update summary": "update holding_summary set hs_qty = :now_held where hs_ca_id = :a and hs_s_symb ="
    " :symbol",
    "delete summary": "delete from holding_summary where hs_ca_id = :a and hs_s_symb = :symbol",
    "oldest holding": f"{_HOLDING} h_dts, h_t_id limit 1 for update",
    "newest holding": f"{_HOLDING} h_dts desc, h_t_id desc limit 1 for update",
    "insert holding history": "insert into holding_history (hh_t_id, hh_h_t_id, hh_before_qty, hh_after_qty)"
    " values (:t, :of, :holding, :rest)",
    "update holding": "update holding set h_qty = :rest where h_t_id = :of",
    "delete holding": "delete from holding where h_t_id = :of",
    "insert holding": "insert into holding (h_t_id, h_ca_id, h_s_symb, h_dts, h_price, h_qty) values (:t, :a,"
    " :symbol, current_timestamp(6), :price * 0.01, :rest)",
    "tax rate": "select sum(tx_rate) as rate from taxrate, customer_taxrate where cx_c_id = :c and tx_id"
    " = cx_tx_id",
    "update tax": "update trade set t_tax = :tax * 0.01 where t_id = :t",
    "security": "select s_ex_id, s_name from security where s_symb = :symbol",
    "customer": "select c_tier from customer where c_id = :c",
    "commission rate": "select cr_rate from commission_rate where cr_c_tier = :tier and cr_tt_id = :type"
    " and cr_ex_id = :exchange and cr_from_qty <= :quantity and cr_to_qty >= :quantity",
    "update trade": "update trade set t_comm = :commission * 0.01, t_dts = current_timestamp(6), t_st_id"
    " = 'CMPT', t_trade_price = :price * 0.01 where t_id = :t",
    "insert history": "insert into trade_history (th_t_id, th_st_id, th_dts)"
    " values (:t, 'CMPT', current_timestamp(6))",
    # the hot row: ten brokers per 1,000 customers
    "update broker": "update broker set b_comm_total = b_comm_total + :commission * 0.01,"
    " b_num_trades = b_num_trades + 1 where b_id = :b",
    "insert settlement": "insert into settlement (se_t_id, se_cash_type, se_cash_due_date, se_amt) values"
    " (:t, case cast(:cash as integer) when 1 then 'Cash Account' else 'Margin' end,"
    " current_date + interval '2' day, :amount * 0.01)",
    "update balance": "update customer_account set ca_bal = ca_bal + :amount * 0.01 where ca_id = :a",
    "insert cash": "insert into cash_transaction (ct_t_id, ct_dts, ct_amt, ct_name) values (:t,"
    " current_timestamp(6), :amount * 0.01, concat(left(:type_name, 12), ' ', cast(:quantity as"
    " decimal(6,0)), ' shares of ', left(:symbol, 15)))",
}
_FEED = {
    "update last trade": "update last_trade set lt_price = :price * 0.01, lt_vol = lt_vol + :quantity,"
    " lt_dts = current_timestamp(6) where lt_s_symb = :symbol",
    "count requests": "select count(*) as n" + _TRIGGERED,
    "request": "select tr_t_id" + _TRIGGERED + " limit 1 for update",
    "update trade": "update trade set t_st_id = 'SBMT', t_dts = current_timestamp(6) where t_id = :t",
    "delete request": "delete from trade_request where tr_t_id = :t",
    "insert history": "insert into trade_history (th_t_id, th_st_id, th_dts)"
    " values (:t, 'SBMT', current_timestamp(6))",
}


def trade_result(clients: int) -> Kind:
    """One per order that the market has executed."""
    taken = {
        "a": "t_ca_id", "type": "t_tt_id", "symbol": "t_s_symb", "quantity": "t_qty", "charge": "charge",
        "lifo": "t_lifo", "cash": "t_is_cash", "sells": "tt_is_sell", "type_name": "tt_name",
    }  # fmt: skip
    value, fees = ":quantity * :price", "(int(:charge) + :commission)"
    amount = f"case when :sells = 1 then {value} - {fees} else -({value} + {fees}) end"
    steps = [
        put("price", price_cents()),
        BEGIN,
        execute("trade", taken),
        execute("account", {"b": "ca_b_id", "c": "ca_c_id", "tax_status": "ca_tax_st"}),
        *_holdings(),
        *trade_order.tax_steps(),
        when(":tax > 0", [execute("update tax")]),
        execute("security", {"exchange": "s_ex_id"}),
        execute("customer", {"tier": "c_tier"}),
        execute("commission rate", {"rate": "cr_rate"}),
        trade_order.commission(),
        execute("update trade"),
        execute("insert history"),
        execute("update broker"),
        put("amount", f"{amount} - case when :tax_status = 1 then :tax else 0 end"),
        execute("insert settlement"),
        when(":cash = 1", [execute("update balance"), execute("insert cash")]),
        COMMIT,
        {"do": "send", "queue": _TICKER_QUEUE, "values": _ENTRY},
    ]
    takes = ({"queue": trade_order.MARKET_QUEUE, "into": ["t", "s"]},)
    return Kind(_RESULT, Scripted(0, tuple(steps), takes=takes, clients=clients))


def _holdings() -> Steps:
    """The position, then holdings one by one; what is left of the trade becomes a holding."""
    one = [
        put("closed", trade_order.CLOSED),
        put("rest", "case when :holding > 0 then :holding - :closed else :holding + :closed end"),
        execute("insert holding history"),
        when(":rest = 0", [execute("delete holding")], [execute("update holding")]),
        *trade_order.value_steps(),
    ]
    rest = [
        *puts(of=":t", holding=0, rest="case when :sells = 1 then -:left else :left end"),
        execute("insert holding history"),
        execute("insert holding"),
    ]
    summary = [when(":now_held = 0", [execute("delete summary")], [execute("update summary")])]
    return [
        put("held", 0),
        execute("holding summary", {"held": "hs_qty"}, rows="known"),
        put("now_held", ":held + case when :sells = 1 then -:quantity else :quantity end"),
        when(":known = 0", [execute("insert summary")], summary),
        *puts(bought=0, sold=0, left=":quantity"),
        when(trade_order.IS_CLOSING, walk(one, {"of": "h_t_id"})),
        when(":left > 0", rest),
    ]


def market_feed(scale: Scale, clients: int) -> Kind:
    """One per 20 entries: each updates a price, and executes the limits that it meets."""
    numbers = range(1, _HALF + 1)
    entries = [step for n in numbers for step in (*(put(name, f":{name}{n}") for name in _ENTRY), *_ticked())]
    others = [step for n in numbers for step in _other_entry(n, scale)]
    takes = (
        {"queue": _TICKER_QUEUE, "into": _ENTRY, "count": _HALF, "least": _HALF},
        {"queue": trade_order.TRIGGER_QUEUE, "into": ["met_s", "met_price"], "count": _HALF, "least": 0},
    )
    return Kind(_FEED, Scripted(0, (*entries, *others), takes=takes, clients=clients))


def _other_entry(n: int, scale: Scale) -> Steps:
    """A limit that the price meets now, or else any security."""
    any_security = puts(
        s=f"random(1, {scale.securities})",
        price=price_cents(),
        quantity=f"case when {percent(50)} then 300 else 500 end",
    )
    met = puts(s=f":met_s{n}", price=f":met_price{n}", quantity=100)
    return [when(f":met_s{n} is null", any_security, met), *_ticked()]


def _ticked() -> Steps:
    """A price on the ticker; each limit order that it meets goes to the market when that is committed."""
    one = [
        BEGIN,
        execute("request", {"t": "tr_t_id"}, rows="found"),
        when(
            ":found > 0",
            [
                execute("update trade"),
                execute("delete request"),
                execute("insert history"),
                COMMIT,
                trade_order.to_market(),
            ],
            [COMMIT],
        ),
    ]
    return [
        symbol(),
        BEGIN,
        execute("update last trade"),
        execute("count requests", {"requests": "n"}),
        COMMIT,
        {"do": "loop", "times": "requests", "steps": one},
    ]
