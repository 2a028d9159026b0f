"""Scripts of pgbench as steps of the load engine. https://www.postgresql.org/docs/current/pgbench.html"""
