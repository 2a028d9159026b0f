"""Results that were measured elsewhere, as bundles. A new file below `formats` is a new format.

The way of the data: `filing` names the files, `source` gives the lines of each, its format makes reports of
them, `runs` places reports in runs and load points, `merge` pools those of one load point, `assemble` derives
the study and the notices, `tables_of_run` gives the tables of the bundle, and `importing` writes it.
"""
