"""A block in turns: all options are ready at once, and each loads its server while the others rest."""
