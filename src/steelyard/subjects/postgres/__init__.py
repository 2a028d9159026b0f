"""PostgreSQL: servers that the lab starts, servers at an address, pgbouncer in front of them."""
