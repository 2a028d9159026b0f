"""How throughput grows with clients, and how evenly clients are served."""
