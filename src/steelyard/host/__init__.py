"""The lab's effects on this machine, and their removal: CPU placement, processes, the guard."""
