"""The lab's engines: they drive the load, or run the measured work in process."""
