"""Formats of captured traffic, one file each: `sniff` recognises the beginning, `read` gives entries."""
