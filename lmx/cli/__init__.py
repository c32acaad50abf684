"""The commands, one file each: a parsed line and the start environment in, an exit status out."""
