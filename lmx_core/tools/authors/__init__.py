"""For who writes a tool or wraps another: a wrapper that the record tells of, and receipts of effects elsewhere."""
