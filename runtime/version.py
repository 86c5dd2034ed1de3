"""The version of everything that can change a figure: it is stored with each run, and results do not carry over to another one."""

ENGINE_VERSION = "3"
"""Raise it when the kernel, the indicators, the metrics or the cells change what any strategy would score."""
