"""Where transcripts are kept: the `Store` protocol, files of JSON lines, and memory."""
