"""The transcript as lines and as a record to read: encoding, references, replay, fork, audit. It does no I/O of its own."""
