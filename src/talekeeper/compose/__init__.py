"""The read path: what is recorded becomes messages to send, and a receipt.

Composing is a function of what is recorded and of its arguments: no model call, no write, no
waiting. Same state and arguments, same bytes.
"""
