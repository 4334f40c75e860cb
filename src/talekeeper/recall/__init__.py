"""Finding what fits a moment. Knows nothing of prompts."""
