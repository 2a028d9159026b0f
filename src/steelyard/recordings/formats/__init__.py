"""One file per format: see `Importer`."""
