"""What was measured on what: the machine and the study."""
