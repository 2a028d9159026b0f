"""Tables of the page and the terminal: functions `(presented) -> Table | None`."""
