"""The judgement as Markdown, JSON and pictures."""
