"""Reads pages of the web for a model: a machine that may be gone to, a bounded answer, text without anything that runs.

Whoever asks here names an address that a stranger may have written. So nothing in this room follows a redirect, uses a proxy,
keeps a cookie or looks a name up by itself: `http` connects to the machine it is given, `fetch` takes each step only after it
was judged, `content` and `html` make text of bytes, and `search` asks a search engine.
"""
