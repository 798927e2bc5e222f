"""The client of the service's protocol: one transport, one class for each kind of resource."""
