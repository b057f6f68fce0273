"""The store of built libraries on disk. It knows neither specs nor compilers; `cache.py` is its front."""
