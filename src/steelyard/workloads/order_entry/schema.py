"""The nine tables: columns in SQL of every server, keys, indexes, and how many rows they have as loaded.

Columns, keys and numbers of rows: clauses 1.2, 1.3 and 4.3.3 of the TPC-C specification, as
https://github.com/pingcap/go-tpc (tpcc/ddl.go) has them. Money is decimal, as sums must be exact.
"""

from steelyard.workloads import Layout

DISTRICTS = 10  # of a warehouse
CUSTOMERS = 3_000  # of a district; as many orders
DELIVERED = 2_100  # orders of a district that are delivered as loaded
ITEMS = 100_000
LINES_MIN, LINES_MAX = 5, 15  # of an order

_SYLLABLES = ("BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING")
SURNAMES = tuple(
    _SYLLABLES[number // 100] + _SYLLABLES[number // 10 % 10] + _SYLLABLES[number % 10]
    for number in range(1000)
)


def _address(prefix: str) -> str:
    return (
        f"{prefix}_street_1 varchar(20), {prefix}_street_2 varchar(20), {prefix}_city varchar(20),"
        f" {prefix}_state char(2), {prefix}_zip char(9)"
    )


# in an order in which each table's references exist
TABLES = {
    "warehouse": Layout(
        f"w_id integer not null, w_name varchar(10), {_address('w')}, w_tax decimal(4,4),"
        " w_ytd decimal(12,2)",
        "w_id",
        200,
        per_unit=1,
    ),
    "district": Layout(
        f"d_id integer not null, d_w_id integer not null, d_name varchar(10), {_address('d')},"
        " d_tax decimal(4,4), d_ytd decimal(12,2), d_next_o_id integer",
        "d_w_id, d_id",
        200,
        per_unit=DISTRICTS,
    ),
    "customer": Layout(
        "c_id integer not null, c_d_id integer not null, c_w_id integer not null, c_first varchar(16),"
        f" c_middle char(2), c_last varchar(16), {_address('c')}, c_phone char(16), c_since timestamp null,"
        " c_credit char(2), c_credit_lim decimal(12,2), c_discount decimal(4,4), c_balance decimal(12,2),"
        " c_ytd_payment decimal(12,2), c_payment_cnt integer, c_delivery_cnt integer, c_data varchar(500)",
        "c_w_id, c_d_id, c_id",
        720,
        "c_w_id, c_d_id, c_last, c_first",
        per_unit=CUSTOMERS * DISTRICTS,
    ),
    "history": Layout(
        "h_c_id integer, h_c_d_id integer, h_c_w_id integer, h_d_id integer, h_w_id integer,"
        " h_date timestamp null, h_amount decimal(6,2), h_data varchar(24)",
        "",
        90,
        per_unit=CUSTOMERS * DISTRICTS,
    ),
    "orders": Layout(
        "o_id integer not null, o_d_id integer not null, o_w_id integer not null, o_c_id integer,"
        " o_entry_d timestamp null, o_carrier_id integer, o_ol_cnt integer, o_all_local integer",
        "o_w_id, o_d_id, o_id",
        150,
        "o_w_id, o_d_id, o_c_id, o_id",
        per_unit=CUSTOMERS * DISTRICTS,
    ),
    "new_order": Layout(
        "no_o_id integer not null, no_d_id integer not null, no_w_id integer not null",
        "no_w_id, no_d_id, no_o_id",
        75,
        per_unit=(CUSTOMERS - DELIVERED) * DISTRICTS,
    ),
    "item": Layout(
        "i_id integer not null, i_im_id integer, i_name varchar(24), i_price decimal(5,2),"
        " i_data varchar(50)",
        "i_id",
        130,
        rows=ITEMS,
    ),
    "stock": Layout(
        "s_i_id integer not null, s_w_id integer not null, s_quantity integer, "
        + ", ".join(f"s_dist_{number:02} char(24)" for number in range(1, DISTRICTS + 1))
        + ", s_ytd integer, s_order_cnt integer, s_remote_cnt integer, s_data varchar(50)",
        "s_w_id, s_i_id",
        400,
        per_unit=ITEMS,
    ),
    "order_line": Layout(
        "ol_o_id integer not null, ol_d_id integer not null, ol_w_id integer not null,"
        " ol_number integer not null, ol_i_id integer, ol_supply_w_id integer, ol_delivery_d timestamp null,"
        " ol_quantity integer, ol_amount decimal(6,2), ol_dist_info char(24)",
        "ol_w_id, ol_d_id, ol_o_id, ol_number",
        150,
        per_unit=CUSTOMERS * DISTRICTS * (LINES_MIN + LINES_MAX) // 2,
    ),
}
