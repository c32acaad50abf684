"""Commands that can change little, see no credentials and reach nobody: the local machine behind the kernel's own walls.

Confinement by reading a command is a guess; this is held by the kernel. `policy` says what is allowed, as data; `bwrap`,
`seccomp` and `seatbelt` turn that into what their tool takes, purely; `doors` knows the sockets of others, `namespace` keeps
what commands share, `probe` says why it does not work here, and `environment` is the `Environment` a session gets. Never does
any of them go on without the walls: what cannot be confined does not run.
"""
