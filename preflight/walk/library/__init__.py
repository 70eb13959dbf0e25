"""What the walk knows of libraries that it does not walk: one small function or value per name, and nothing of vLLM's
own rules.
"""
