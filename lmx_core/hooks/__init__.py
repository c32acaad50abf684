"""Where a host's own code looks at what a session is about to do, and may change or refuse it (core.md section 8.1)."""
