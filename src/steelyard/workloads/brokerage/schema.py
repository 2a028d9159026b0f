"""The 27 tables: columns in SQL of every server, keys, indexes.

Columns, keys and indexes as https://github.com/Percona-Lab/tpce-mysql (scripts/mysql) names them; indexes for
the references besides. Left out: news, financial figures, competitors, addresses, zip codes.
"""

from steelyard.workloads import Layout
from steelyard.workloads.brokerage.scale import INDUSTRIES, SECTORS, TAX_RATES

_TIME = "timestamp(6) null"

# in an order in which each table's references exist; a unit is a customer; holdings as after 300 days
TABLES = {
    "status_type": Layout("st_id char(4) not null, st_name varchar(10)", "st_id", 50, rows=5),
    "trade_type": Layout(
        "tt_id char(3) not null, tt_name varchar(12), tt_is_sell integer, tt_is_mrkt integer",
        "tt_id",
        50,
        rows=5,
    ),
    "taxrate": Layout(
        "tx_id char(4) not null, tx_name varchar(50), tx_rate decimal(6,5)", "tx_id", 60, rows=TAX_RATES
    ),
    "exchange": Layout(
        "ex_id char(6) not null, ex_name varchar(100), ex_num_symb integer, ex_open integer,"
        " ex_close integer, ex_desc varchar(150), ex_ad_id bigint",
        "ex_id",
        200,
        rows=4,
    ),
    "sector": Layout("sc_id char(2) not null, sc_name varchar(30)", "sc_id", 50, "sc_name", rows=SECTORS),
    "industry": Layout(
        "in_id char(2) not null, in_name varchar(50), in_sc_id char(2)",
        "in_id",
        60,
        "in_name; in_sc_id",
        rows=INDUSTRIES,
    ),
    "charge": Layout(
        "ch_tt_id char(3) not null, ch_c_tier integer not null, ch_chrg decimal(10,2)",
        "ch_tt_id, ch_c_tier",
        50,
        rows=15,
    ),
    "commission_rate": Layout(
        "cr_c_tier integer not null, cr_tt_id char(3) not null, cr_ex_id char(6) not null,"
        " cr_from_qty integer not null, cr_to_qty integer, cr_rate decimal(5,2)",
        "cr_c_tier, cr_tt_id, cr_ex_id, cr_from_qty",
        60,
        rows=240,
    ),
    "company": Layout(
        "co_id bigint not null, co_st_id char(4), co_name varchar(60), co_in_id char(2), co_sp_rate char(4),"
        " co_ceo varchar(46), co_ad_id bigint, co_desc varchar(150), co_open_date date",
        "co_id",
        350,
        "co_name; co_in_id",
        per_unit=0.5,
    ),
    "security": Layout(
        "s_symb varchar(15) not null, s_issue char(6), s_st_id char(4), s_name varchar(70), s_ex_id char(6),"
        " s_co_id bigint, s_num_out bigint, s_start_date date, s_exch_date date, s_pe decimal(10,2),"
        " s_52wk_high decimal(8,2), s_52wk_high_date date, s_52wk_low decimal(8,2), s_52wk_low_date date,"
        " s_dividend decimal(10,2), s_yield decimal(5,2)",
        "s_symb",
        260,
        "s_co_id, s_issue",
        per_unit=0.685,
    ),
    "last_trade": Layout(
        f"lt_s_symb varchar(15) not null, lt_dts {_TIME}, lt_price decimal(8,2), lt_open_price decimal(8,2),"
        " lt_vol bigint",
        "lt_s_symb",
        90,
        per_unit=0.685,
    ),
    "daily_market": Layout(
        "dm_s_symb varchar(15) not null, dm_date date not null, dm_close decimal(8,2), dm_high decimal(8,2),"
        " dm_low decimal(8,2), dm_vol bigint",
        "dm_s_symb, dm_date",
        130,
        per_unit=0.685 * 1_305,
    ),
    "customer": Layout(
        "c_id bigint not null, c_tax_id varchar(20), c_st_id char(4), c_l_name varchar(25),"
        " c_f_name varchar(20), c_tier integer, c_dob date, c_ad_id bigint, c_phone_1 varchar(30),"
        " c_phone_2 varchar(30), c_phone_3 varchar(30), c_email_1 varchar(50), c_email_2 varchar(50)",
        "c_id",
        330,
        "c_tax_id",
        per_unit=1.0,
    ),
    "customer_taxrate": Layout(
        "cx_c_id bigint not null, cx_tx_id char(4) not null", "cx_c_id, cx_tx_id", 70, per_unit=2.0
    ),
    "broker": Layout(
        "b_id bigint not null, b_st_id char(4), b_name varchar(49), b_num_trades integer,"
        " b_comm_total decimal(12,2)",
        "b_id",
        110,
        "b_name",
        per_unit=0.01,
    ),
    "customer_account": Layout(
        "ca_id bigint not null, ca_b_id bigint, ca_c_id bigint, ca_name varchar(50), ca_tax_st integer,"
        " ca_bal decimal(12,2)",
        "ca_id",
        150,
        "ca_c_id",
        per_unit=5.0,
    ),
    "account_permission": Layout(
        "ap_ca_id bigint not null, ap_tax_id varchar(20) not null, ap_acl char(4), ap_l_name varchar(25),"
        " ap_f_name varchar(20)",
        "ap_ca_id, ap_tax_id",
        120,
        per_unit=1.42 * 5,
    ),
    "watch_list": Layout("wl_id bigint not null, wl_c_id bigint", "wl_id", 90, "wl_c_id", per_unit=1.0),
    "watch_item": Layout(
        "wi_wl_id bigint not null, wi_s_symb varchar(15) not null", "wi_wl_id, wi_s_symb", 90, per_unit=100.0
    ),
    "trade": Layout(
        f"t_id bigint not null, t_dts {_TIME}, t_st_id char(4), t_tt_id char(3), t_is_cash integer,"
        " t_s_symb varchar(15), t_qty integer, t_bid_price decimal(8,2), t_ca_id bigint, t_exec_name"
        " varchar(49), t_trade_price decimal(8,2), t_chrg decimal(10,2), t_comm decimal(10,2), t_tax"
        " decimal(10,2), t_lifo integer",
        "t_id",
        330,
        "t_ca_id, t_dts; t_s_symb, t_dts",
        per_trade=1.0,
    ),
    "trade_history": Layout(
        f"th_t_id bigint not null, th_st_id char(4) not null, th_dts {_TIME}",
        "th_t_id, th_st_id",
        140,
        "th_t_id, th_dts",
        per_trade=2.4,
    ),
    "trade_request": Layout(
        "tr_t_id bigint not null, tr_tt_id char(3), tr_s_symb varchar(15), tr_qty integer,"
        " tr_bid_price decimal(8,2), tr_b_id bigint",
        "tr_t_id",
        150,
        "tr_s_symb, tr_tt_id, tr_bid_price; tr_b_id",
    ),
    "settlement": Layout(
        "se_t_id bigint not null, se_cash_type varchar(40), se_cash_due_date date, se_amt decimal(10,2)",
        "se_t_id",
        110,
        per_trade=1.0,
    ),
    "cash_transaction": Layout(
        f"ct_t_id bigint not null, ct_dts {_TIME}, ct_amt decimal(10,2), ct_name varchar(100)",
        "ct_t_id",
        140,
        per_trade=0.92,
    ),
    "holding": Layout(
        f"h_t_id bigint not null, h_ca_id bigint, h_s_symb varchar(15), h_dts {_TIME}, h_price decimal(8,2),"
        " h_qty integer",
        "h_t_id",
        170,
        "h_ca_id, h_s_symb, h_dts",
        per_trade=0.051,
    ),
    "holding_summary": Layout(
        "hs_ca_id bigint not null, hs_s_symb varchar(15) not null, hs_qty integer",
        "hs_ca_id, hs_s_symb",
        100,
        per_unit=9.96 * 5,
    ),
    "holding_history": Layout(
        "hh_t_id bigint not null, hh_h_t_id bigint not null, hh_before_qty integer, hh_after_qty integer",
        "hh_t_id, hh_h_t_id",
        130,
        "hh_h_t_id",
        per_trade=1.34,
    ),
}

TRADE_TYPES = (
    ("TMB", "Market-Buy", 0, 1),
    ("TMS", "Market-Sell", 1, 1),
    ("TLB", "Limit-Buy", 0, 0),
    ("TLS", "Limit-Sell", 1, 0),
    ("TSL", "Stop-Loss", 1, 0),
)
EXCHANGES = ("EX1", "EX2", "EX3", "EX4")
