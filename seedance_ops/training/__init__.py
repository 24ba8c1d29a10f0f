"""What runs inside a launched job: the session, and the strategies it applies."""
