"""Study files and plans: the question, knowing no server."""
