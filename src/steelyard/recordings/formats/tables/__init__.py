"""Tables that describe themselves."""
