"""Alembic migrations; append only."""
