"""The tables of a bundle, reduced by SQL to what the analysis judges."""
