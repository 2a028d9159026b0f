"""Whether the runs are fit to be judged: steady, complete, measured by a harness that kept up."""
