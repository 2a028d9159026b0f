"""PostgreSQL: our own servers, servers at an address, pgbouncer before them."""
