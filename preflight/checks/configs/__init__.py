"""What code reads of configs, held against the classes that make them; no launch is needed."""
