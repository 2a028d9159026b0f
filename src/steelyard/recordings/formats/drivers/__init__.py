"""What load drivers print."""
