"""Common parts of servers: the process and its account; checks for servers at an address."""
