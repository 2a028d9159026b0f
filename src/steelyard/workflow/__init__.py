"""What a command does: prepare a study, measure it, resume it, show a bundle."""
