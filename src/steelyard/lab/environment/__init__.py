"""The machine and the server as found, without secrets."""
