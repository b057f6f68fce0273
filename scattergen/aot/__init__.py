"""Kernels built ahead of time: which ones, their C files and libraries, and the folder around them."""
