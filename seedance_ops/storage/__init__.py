"""S3-compatible object storage: locations, a client with typed errors, and the embedded server."""
