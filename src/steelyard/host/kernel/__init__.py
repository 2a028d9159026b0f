"""Settings of the kernel, tracepoints and uprobes."""
