"""The series that charts draw and the facts of a study, reduced by SQL to a few thousand rows."""
