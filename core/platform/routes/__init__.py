"""The HTTP surface: parse the request, ask the store or the service, answer in the service's shapes."""
