"""The screen's view-model, without a screen: what a typed line or an event means, and what is then to be seen (GEN-1)."""
