"""PostgreSQL's own counters and waits."""

import logging

# a lost connection is said by the lab, with its run
logging.getLogger("psycopg").setLevel(logging.CRITICAL)
