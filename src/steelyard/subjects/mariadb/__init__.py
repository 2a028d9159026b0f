"""MariaDB and MySQL: our own servers, and servers at an address."""
