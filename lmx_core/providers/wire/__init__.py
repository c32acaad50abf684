"""The protocols spoken directly. Each is pure: a request to bytes, bytes to events; `../http.py` does the sending."""
