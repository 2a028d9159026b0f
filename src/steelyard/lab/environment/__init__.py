"""The environment of a run: the machine and the server, without secrets."""
