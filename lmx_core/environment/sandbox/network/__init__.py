"""A network that ends at a list of hosts: the one way out of the commands' own namespace is a proxy in this process.

The commands' network has a loopback and nothing else, so there is nothing to get around: what does not ask the proxy reaches
nobody. The proxy's socket was made inside that network and is listened on from out here; no process bridges the two. `hosts`
says who is listed, `request` and `hello` read what a program says, purely, `command` knows who asks, and `proxy` carries bytes
to where it was judged that they may go.
"""
