"""One file per format, in rooms by source: see `recordings.registry`."""
