"""From ONNX's words to a loop's: the nest of a call, its form, its kernels, and which of them serves which sizes."""
