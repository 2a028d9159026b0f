"""`python -m steelyard`, where the folder of scripts is not on the PATH."""

from steelyard.cli import main

main()
