"""Tools of Solaris and illumos."""
