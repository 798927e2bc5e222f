"""What the platform keeps: one SQLite database for state, plain files for logs, data sets and packages."""
