"""The lab's engines: what drives a load, or holds in process what is measured."""
