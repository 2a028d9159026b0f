"""Values replaced consistently, under a secret that stays with their owner."""
