"""Options held against each other: blocks, intervals, pairs, effects, when to stop."""
