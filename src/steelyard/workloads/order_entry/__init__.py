"""Order entry: a wholesaler's warehouses, their customers, orders, payments and deliveries.

Derived from the TPC-C specification; not a TPC benchmark; results are not comparable with published ones.
"""
