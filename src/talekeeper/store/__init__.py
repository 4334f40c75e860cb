"""Tables, queries by subject, migrations; SQLite and PostgreSQL.

Store functions are synchronous over a SQLAlchemy ``Connection`` and never call a model. A unit of
work is one function, run by :class:`~talekeeper.store.database.Database` in one transaction.
"""
