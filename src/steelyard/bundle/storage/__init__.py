"""How a bundle lies on the disk: files written whole, checksums, identity, which runs are read."""
