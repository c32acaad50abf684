"""A model file on this machine: `local:/path/model.gguf` (design.md section 4, "Local models").

It is served by llama.cpp in a child process and asked over the ordinary Chat Completions wire. Inside this process it would end
the session where native code crashes, and hold up the event loop while it thinks.
"""
