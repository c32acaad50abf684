"""`lmx demo`: everything real but the model (design.md section 4). `project` is what it works on, `model` what it says."""
