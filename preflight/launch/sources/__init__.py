"""Where a launch stands: on a command line, in a shell script, a compose file, a Kubernetes manifest."""
