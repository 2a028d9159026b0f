"""What this machine and user permit, with remedies."""
