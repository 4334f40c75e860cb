"""The write-behind path: what is derived from chats, made and kept true after the reply."""
