"""Charts of the load: throughput, latency, clients, gauges."""
