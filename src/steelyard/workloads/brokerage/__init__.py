"""Brokerage: customers, their accounts, orders and holdings; brokers, securities, and the market.

Derived from the TPC-E specification; not a TPC benchmark; results are not comparable with published TPC
results. No data, names or programs of the TPC's kit are used.
"""
