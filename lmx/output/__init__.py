"""What a run prints: `text` for people, `json` and `stream-json` for programs (cli.md section 2).

Standard output belongs to the answer, or to JSON; everything else is one line each on standard error. A line for a person
that strays onto standard output breaks the script that reads it.
"""
