"""Charts of the answer: ratios, effects, costs."""
