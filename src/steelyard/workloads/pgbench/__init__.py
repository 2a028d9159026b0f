"""Scripts of pgbench, put into steps of the load engine.

https://www.postgresql.org/docs/current/pgbench.html
"""
