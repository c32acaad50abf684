"""One prompt at work: its steps (`run`), a request and its answer (`asking`), an answer's calls (`calls`), its end (`end`)."""
