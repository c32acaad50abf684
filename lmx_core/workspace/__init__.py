"""What a project and a person tell the agent in files: read as text, within limits, and never obeyed as settings."""
