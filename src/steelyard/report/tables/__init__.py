"""Tables of the page and the terminal: a module each, `table(presented) -> Table | None`."""
