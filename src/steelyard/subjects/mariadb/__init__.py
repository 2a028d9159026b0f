"""MariaDB and MySQL: servers that the lab starts, and servers at an address."""
