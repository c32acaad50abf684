"""`lmx explain`: what a new session would start with, and how that differs from an earlier report."""
