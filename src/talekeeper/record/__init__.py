"""The write path: what was said and done becomes rows, each in one short transaction.

Functions here are units of work over a ``Connection``; none calls a model.
"""
