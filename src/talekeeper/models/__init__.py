"""Models: what turns texts into vectors.

Nothing here knows the store, chats or settings; nothing goes to the network without being told to.
"""
