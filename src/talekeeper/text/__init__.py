"""Text: counting tokens, expanding macros, splitting examples, condensing what was said.

Pure functions over strings. Nothing here knows the store, the models, the network or the clock.
"""
