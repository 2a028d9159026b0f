"""What every way of showing needs: the ranking, footnotes, the series to draw."""
