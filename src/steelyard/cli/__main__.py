"""python -m steelyard.cli: the command line without an installed script."""

from steelyard.cli import main

main()
