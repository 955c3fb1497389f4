"""gdn_ref inside other libraries' models, one module a library."""
