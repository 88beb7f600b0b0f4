"""What is in the storehouse."""
