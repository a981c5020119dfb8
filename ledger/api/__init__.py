"""The HTTP door for terminals and readers."""
