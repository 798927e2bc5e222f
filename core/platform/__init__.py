"""The local platform: the protocol of the service, answered on this machine."""
