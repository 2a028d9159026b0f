"""The data as loaded (clause 4.3.3), in CSV files of the same bytes for every server.

Every table, warehouse and district has random numbers of its own, so the rows of one do not depend on others.
"""

from collections.abc import Iterator
from functools import partial
from itertools import chain

from steelyard.workloads.chance import Chance, money, rates
from steelyard.workloads.order_entry.schema import (
    CUSTOMERS,
    DELIVERED,
    DISTRICTS,
    ITEMS,
    LINES_MAX,
    LINES_MIN,
    SURNAMES,
)

_SEED = 20_260_101
_LOADED_AT = "2026-01-01 00:00:00"
_STOCK_PART = 10_000  # rows of stock that are made at once
_NAMES_IN_ORDER = 1_000  # customers of a district whose last names are those of their numbers

Lines = Iterator[str]


def lines(table: str, warehouses: int, last_name_constant: int) -> Lines:
    """Lines of the CSV file of a table, without its header."""
    if table == "item":
        return _item()
    own = _BY_DISTRICT | {"customer": partial(_customer, last_name_constant)}
    by_warehouse = {"warehouse": _warehouse, "district": _district, "stock": _stock}
    every = range(1, warehouses + 1)
    if make := by_warehouse.get(table):
        return chain.from_iterable(map(make, every))
    return chain.from_iterable(own[table](w, d) for w in every for d in range(1, DISTRICTS + 1))


def _chance(name: str, rows: int, *of: int) -> Chance:
    return Chance([_SEED, *name.encode(), *of], rows)


def _address(chance: Chance) -> list[Iterator[str]]:
    streets = [chance.texts(10, 20) for _ in range(3)]
    return [*streets, chance.letters(2), (f"{zip_code}11111" for zip_code in chance.digits(4))]


def _places(chance: Chance) -> Lines:
    name, tax = chance.texts(6, 10), rates(chance.integers(0, 2000))
    return map(",".join, zip(name, *_address(chance), tax, strict=True))


def _warehouse(w: int) -> Lines:
    for place in _places(_chance("warehouse", 1, w)):
        yield f"{w},{place},300000.00\n"


def _district(w: int) -> Lines:
    for d, place in enumerate(_places(_chance("district", DISTRICTS, w)), start=1):
        yield f"{d},{w},{place},30000.00,{CUSTOMERS + 1}\n"


def _customer(last_name_constant: int, w: int, d: int) -> Lines:
    chance = _chance("customer", CUSTOMERS, w, d)
    drawn = chance.nurand(255, 0, 999, last_name_constant).tolist()
    numbers = [*range(_NAMES_IN_ORDER), *drawn[_NAMES_IN_ORDER:]]
    columns = (
        chance.texts(8, 16),
        map(SURNAMES.__getitem__, numbers),
        map(",".join, zip(*_address(chance), strict=True)),
        chance.digits(16),
        chance.tenth("BC", "GC"),
        rates(chance.integers(0, 5000)),
        chance.texts(300, 500),
    )
    for c, (first, last, address, phone, credit, discount, data) in enumerate(zip(*columns, strict=True), 1):
        yield (
            f"{c},{d},{w},{first},OE,{last},{address},{phone},{_LOADED_AT},{credit},50000.00,{discount},"
            f"-10.00,10.00,1,0,{data}\n"
        )


def _history(w: int, d: int) -> Lines:
    for c, data in enumerate(_chance("history", CUSTOMERS, w, d).texts(12, 24), start=1):
        yield f"{c},{d},{w},{d},{w},{_LOADED_AT},10.00,{data}\n"


def _line_counts(w: int, d: int) -> list[int]:
    """How many lines each order has: orders and their lines agree on it."""
    return _chance("line counts", CUSTOMERS, w, d).integers(LINES_MIN, LINES_MAX).tolist()


def _orders(w: int, d: int) -> Lines:
    chance = _chance("orders", CUSTOMERS, w, d)
    customers, carriers = chance.permutation().tolist(), chance.integers(1, 10).tolist()
    rows = zip(customers, carriers, _line_counts(w, d), strict=True)
    for o, (c, carrier, count) in enumerate(rows, start=1):
        yield f"{o},{d},{w},{c},{_LOADED_AT},{carrier if o <= DELIVERED else 'NULL'},{count},1\n"


def _new_order(w: int, d: int) -> Lines:
    return (f"{o},{d},{w}\n" for o in range(DELIVERED + 1, CUSTOMERS + 1))


def _order_line(w: int, d: int) -> Lines:
    counts = _line_counts(w, d)
    chance = _chance("order line", sum(counts), w, d)
    items, information = chance.integers(1, ITEMS).tolist(), chance.texts(24, 24)
    rows = zip(items, money(chance.integers(1, 999_999)), information, strict=True)
    for o, count in enumerate(counts, start=1):
        for number in range(1, count + 1):
            item, amount, text = next(rows)
            what = f"{_LOADED_AT},5,0.00" if o <= DELIVERED else f"NULL,5,{amount}"
            yield f"{o},{d},{w},{number},{item},{w},{what},{text}\n"


def _item() -> Lines:
    chance = _chance("item", ITEMS)
    images, names = chance.integers(1, 10_000).tolist(), chance.texts(14, 24)
    prices, data = money(chance.integers(100, 10_000)), chance.marked_texts()
    for i, row in enumerate(zip(images, names, prices, data, strict=True), start=1):
        yield f"{i},{row[0]},{row[1]},{row[2]},{row[3]}\n"


def _stock(w: int) -> Lines:
    for first in range(1, ITEMS + 1, _STOCK_PART):
        chance = _chance("stock", _STOCK_PART, w, first)
        quantities = chance.integers(10, 100).tolist()
        texts = chance.texts(24, 24, columns=DISTRICTS)
        information = map(",".join, zip(*[texts] * DISTRICTS, strict=True))
        rows = zip(quantities, information, chance.marked_texts(), strict=True)
        for i, (quantity, own, data) in enumerate(rows, start=first):
            yield f"{i},{w},{quantity},{own},0,0,0,{data}\n"


_BY_DISTRICT = {"history": _history, "orders": _orders, "new_order": _new_order, "order_line": _order_line}
