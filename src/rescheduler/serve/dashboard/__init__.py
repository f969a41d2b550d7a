"""The dashboard: a JSON API, the stream of what changes, and the page that shows both."""
