"""How models are reached: the protocol, the catalogue of known providers, the wire adapters, the scripted one."""
