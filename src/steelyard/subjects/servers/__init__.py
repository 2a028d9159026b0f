"""What servers of ours share: the process, its account; and servers at an address."""
