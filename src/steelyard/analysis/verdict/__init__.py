"""The answer: which option wins, by how much, how sure, and why."""
