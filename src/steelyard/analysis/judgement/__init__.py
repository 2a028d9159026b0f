"""The nouns that the analysis returns and the report shows, by topic."""
