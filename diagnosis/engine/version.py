"""The version of the engine, which is that of the whole project."""

VERSION = "0.1.0"
