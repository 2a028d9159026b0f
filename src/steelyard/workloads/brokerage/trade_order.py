"""Trade-Order: a customer's order; the market gets it when it is committed."""

from steelyard.workloads import BEGIN, COMMIT, Kind, Scripted, Step, Steps, execute, percent, pick, put, when
from steelyard.workloads.brokerage import draws
from steelyard.workloads.brokerage.scale import PRICE_MIN, PRICE_SPAN, QUANTITIES, WAVE_MS, Scale
from steelyard.workloads.brokerage.schema import TRADE_TYPES

MARKET_QUEUE, TRIGGER_QUEUE = "orders at the market", "limits that the price meets"
_HOLDING = "select h_qty, h_price from holding where h_ca_id = :a and h_s_symb = :symbol"
_STATEMENTS = {
    "account": "select ca_name, ca_b_id, ca_tax_st, ca_bal from customer_account where ca_id = :a",
    "customer": "select c_f_name, c_l_name, c_tier, c_tax_id, c_st_id from customer where c_id = :c",
    "broker": "select b_name from broker where b_id = :b",
    "permission": "select ap_acl from account_permission where ap_ca_id = :a and ap_tax_id = :tax_number"
    " and ap_l_name = :last_name and ap_f_name = :first_name",
    "security by symbol": "select s_symb, s_ex_id, s_name, co_name from security, company"
    " where s_symb = :symbol and co_id = s_co_id",
    "company": "select co_id from company where co_name = :company_name",
    "security by company": "select s_symb, s_ex_id, s_name from security where s_co_id = :company"
    " and s_issue = :issue",
    "last trade": "select lt_price * 100 as cents from last_trade where lt_s_symb = :symbol",
    "trade type": "select tt_is_mrkt, tt_is_sell from trade_type where tt_id = :type",
    "holding summary": "select hs_qty from holding_summary where hs_ca_id = :a and hs_s_symb = :symbol",
    "oldest holding": _HOLDING + " order by h_dts, h_t_id limit 1 offset :before",
    "newest holding": _HOLDING + " order by h_dts desc, h_t_id desc limit 1 offset :before",
    "tax rate": "select sum(tx_rate) as rate from taxrate, customer_taxrate where cx_c_id = :c and tx_id"
    " = cx_tx_id",
    "commission rate": "select cr_rate from commission_rate where cr_c_tier = :tier and cr_tt_id = :type"
    " and cr_ex_id = :exchange and cr_from_qty <= :quantity and cr_to_qty >= :quantity",
    "charge": "select ch_chrg * 100 as cents from charge where ch_tt_id = :type and ch_c_tier = :tier",
    "assets": "select sum(hs_qty * lt_price) as assets from holding_summary, last_trade where hs_ca_id = :a"
    " and lt_s_symb = hs_s_symb",
    "insert trade": "insert into trade (t_id, t_dts, t_st_id, t_tt_id, t_is_cash, t_s_symb, t_qty,"
    " t_bid_price,"
    " t_ca_id, t_exec_name, t_trade_price, t_chrg, t_comm, t_tax, t_lifo) values (:t, current_timestamp(6),"
    " :status, :type, :cash, :symbol, :quantity, :price * 0.01, :a, concat(left(:first_name, 20), ' ',"
    " left(:last_name, 25)), null, :charge * 0.01, :commission * 0.01, 0, :lifo)",
    "insert request": "insert into trade_request (tr_t_id, tr_tt_id, tr_s_symb, tr_qty, tr_bid_price,"
    " tr_b_id) values (:t, :type, :symbol, :quantity, :price * 0.01, :b)",
    "insert history": "insert into trade_history (th_t_id, th_st_id, th_dts)"
    " values (:t, :status, current_timestamp(6))",
}


def trade_order(scale: Scale) -> Kind:
    """Of 1,000 transactions of clients and market 101, of which one is rolled back at its end."""
    by_company = [
        execute("company", {"company": "co_id"}),
        execute("security by company", {"symbol": "s_symb", "exchange": "s_ex_id"}),
    ]
    steps = [
        *_order(scale),
        BEGIN,
        execute("account", {"b": "ca_b_id", "tax_status": "ca_tax_st"}),
        execute("customer", {"tier": "c_tier"}),
        execute("broker"),
        when("not :owner", [execute("permission", rows="found"), when(":found = 0", [_ROLLBACK])]),
        when(":by_symbol", [execute("security by symbol", {"exchange": "s_ex_id"})], by_company),
        execute("last trade", {"last": "cents"}),
        execute("trade type", {"market": "tt_is_mrkt", "sells": "tt_is_sell"}),
        put("price", "case when :market = 1 then int(:last) else :bid end"),
        *_closing(),
        execute("commission rate", {"rate": "cr_rate"}),
        execute("charge", {"charge": "cents"}),
        put("charge", "int(:charge)"),
        when(":cash = 0", [execute("assets")]),
        commission(),
        put("status_number", "case when :market = 1 then 1 else 2 end"),
        pick("status", ["SBMT", "PNDG"], ":status_number"),
        execute("insert trade"),
        when(":market = 0", [execute("insert request")]),
        execute("insert history"),
        when(":cancelled", [_ROLLBACK]),
        COMMIT,
        when(":market = 1", [to_market()], _trigger()),
    ]
    return Kind(_STATEMENTS, Scripted(101, tuple(steps)))


_ROLLBACK = {"do": "rollback"}


def to_market() -> Step:
    """The trade `t` of the security `s` goes to the market: it answers after 1 s in the mean, at most 5 s."""
    delay_ms = draws.tree("least(5000, -1000 * ln(0.000001 * random(1, 1000000)))")
    return {"do": "send", "queue": MARKET_QUEUE, "values": ["t", "s"], "after_ms": delay_ms}


def tax_steps() -> Steps:
    """The `tax` in cents of what `bought` was sold for, where the account is taxed."""
    rate = [execute("tax rate", {"tax_rate": "rate"}), put("tax", "int((:sold - :bought) * :tax_rate)")]
    return [put("tax", 0), when(":tax_status > 0 and :sold > :bought", rate)]


def value_steps() -> Steps:
    """Adds cents of what was `closed` by a trade of `price`: bought for one, sold for the other."""
    paid, now = "int(100 * :paid) * :closed", ":price * :closed"
    return draws.puts(
        bought=f"case when :sells = 1 then :bought + {paid} else :bought + {now} end",
        sold=f"case when :sells = 1 then :sold + {now} else :sold + {paid} end",
        left=":left - :closed",
    )


# what a trade closes of one holding, and whether it closes something of the position `held`
CLOSED = "least(:left, abs(:holding))"
IS_CLOSING = ":sells = 1 and :held > 0 or :sells = 0 and :held < 0"


def _order(scale: Scale) -> Steps:
    """All that the customer says; `t` is the number of the trade."""
    types = [kind for kind, *_ in TRADE_TYPES]
    # of 100: market buys and sells 30 each, limit buys 20, limit sells and stop-loss 10 each
    number = (
        "case when :kind <= 30 then 1 when :kind <= 60 then 2 when :kind <= 80 then 3 when :kind <= 90 then 4"
        " else 5 end"
    )
    quantity = " ".join(f"when :size = {at} then {one}" for at, one in enumerate(QUANTITIES, 1))
    return [
        *draws.account(scale),
        *draws.security_of_account(scale),
        draws.name("company_name", "Company ", f"(:s - 1) % {scale.companies} + 1", 6),
        pick("issue", ["COMMON", "PREF_A"], f"case when :s > {scale.companies} then 2 else 1 end"),
        put("by_symbol", percent(60)),
        *_executor(scale),
        put("kind", "random(1, 100)"),
        put("type_number", number),
        pick("type", types, ":type_number"),
        *draws.puts(
            size=f"random(1, {len(QUANTITIES)})",
            quantity=f"case {quantity} end",
            bid=f"random({PRICE_MIN}, {PRICE_MIN + PRICE_SPAN})",
            lifo=f"case when {percent(35)} then 1 else 0 end",
            cash=f"case when {percent(8)} then 0 else 1 end",
            cancelled=percent(1),
        ),
        {"do": "draw", "value": "t", "from": {"kind": "sequence", "start": scale.trades + 1, "step": 1}},
    ]


def _executor(scale: Scale) -> Steps:
    """The owner; for a quarter of the accounts that others may trade for, the last of these: 10 % of all."""
    drawn = ":a * 3571 % 10007 % 100"
    other = f"(:c - 1 + 101 * :others) % {scale.customers} + 1"
    return [
        *draws.puts(
            others=f"case when {drawn} >= 98 then 2 when {drawn} >= 60 then 1 else 0 end",
            owner=f":others = 0 or {percent(75)}",
            executor=f"case when :owner then :c else {other} end",
        ),
        draws.name("last_name", "Last", ":executor", 9),
        draws.name("first_name", "First", ":executor", 9),
        draws.tax_number(":executor"),
    ]


def _closing() -> Steps:
    """What the order would close, and the tax on it: an estimate, as the market has not paid yet."""
    one = [put("closed", CLOSED), *value_steps(), put("before", ":before + 1")]
    return [
        put("held", 0),
        execute("holding summary", {"held": "hs_qty"}),
        *draws.puts(bought=0, sold=0, before=0, left=":quantity"),
        when(IS_CLOSING, draws.walk(one, {})),
        *tax_steps(),
    ]


def commission() -> Step:
    """The `commission` in cents."""
    return put("commission", "int(:rate * (:quantity * :price) / 100.0)")


def _trigger() -> Steps:
    """A limit order waits until the price meets it: at once, or when the wave is there."""
    met = f"{WAVE_MS // 2 // PRICE_SPAN} * (:bid - {PRICE_MIN})"
    up = f"({met} + ({WAVE_MS} - :place)) % {WAVE_MS}"
    down = f"({2 * WAVE_MS} - ({met} + :place)) % {WAVE_MS}"
    return [
        *draws.puts(
            now=draws.price_cents(),
            place=draws.wave_place(),
            met=":type_number = 4 and :bid <= :now or :type_number <> 4 and :bid >= :now",
            limit="case when :met then :now else :bid end",
            wait_ms=f"case when :met then 0 else least({up}, {down}) end",
        ),
        {"do": "send", "queue": TRIGGER_QUEUE, "values": ["s", "limit"], "after_ms": "wait_ms"},
    ]
