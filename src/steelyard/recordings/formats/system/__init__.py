"""Tools that show what a Linux machine does."""
