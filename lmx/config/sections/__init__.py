"""Parts of the configuration with keys or rules of their own, one file each."""
