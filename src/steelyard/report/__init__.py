"""Shows a judgement: terminal, HTML, pictures, Markdown, JSON. No statistics here."""
