"""One module per command (or group of commands). Each imports heavy parts inside the command, so that help stays quick."""
