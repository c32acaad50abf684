"""Credentials are replaced by placeholders before text reaches a model, a log or the transcript.

`values.py` says what is one, `detect.py` what looks like one, `placeholder.py` how its name reads, `masker.py` does it, and
`policy.py` is what a host gives a session. All of it is pure. Struck out instead, the obvious way, a value could not be put
back: an edit of the line it stands in would write the mark into the file.
"""
