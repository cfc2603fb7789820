"""Where the JavaScript files of the shim are."""
