"""What ONNX says: types, operators by version, descriptors, shapes, bounds, and the slow meaning of each operator."""
