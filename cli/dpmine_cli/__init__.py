"""The command line of dpmine: parse, call one function of the library, print, map errors to exit codes."""
