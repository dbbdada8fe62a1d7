"""Writes GGUF files with a true header and no data: the tensors are a hole. Gigabytes on paper, kilobytes on disk."""

import numpy
import gguf
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as T

ALIGNMENT = 32


def fallback(row, kind):
    """What llama-quantize takes instead when rows do not divide into the type's blocks."""
    if row % GGML_QUANT_SIZES[kind][0] == 0:
        return kind
    other = {T.Q4_K: T.Q5_0, T.Q5_K: T.Q5_1, T.Q6_K: T.Q8_0}.get(kind, T.F16)
    return other if row % GGML_QUANT_SIZES[other][0] == 0 else T.F16


def more_bits(layer, layers):
    return layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2


class Model:
    """One file. `numbers` are the header's keys without the architecture in front."""

    def __init__(self, path, architecture, layers, numbers):
        self.path, self.layers = path, layers
        self.tensors = []
        self.writer = gguf.GGUFWriter(path, architecture)
        for key, value in numbers.items():
            self.number(key if key.startswith("xielu") else f"{architecture}.{key}", value)
        self.writer.add_string("tokenizer.ggml.model", "none")

    def number(self, key, value):
        if isinstance(value, bool):
            self.writer.add_bool(key, value)
        elif isinstance(value, int):
            self.writer.add_uint32(key, value)
        elif isinstance(value, float):
            self.writer.add_float32(key, value)
        elif isinstance(value, str):
            self.writer.add_string(key, value)
        else:
            self.writer.add_array(key, list(value))

    def small(self, name, *dims):
        self.tensors.append((name, dims, T.F32))

    def matrix(self, name, row, *rest, layer=None, mix=T.Q4_K, half_more=False):
        kind = T.Q6_K if half_more and more_bits(layer, self.layers) else mix
        self.tensors.append((name, (row, *rest), fallback(row, kind)))

    def close(self):
        total = 0
        for name, dims, kind in self.tensors:
            block, size = GGML_QUANT_SIZES[kind]
            count = int(numpy.prod(dims, dtype=numpy.int64)) // block * size
            self.writer.add_tensor_info(name, list(reversed(dims)), numpy.dtype(numpy.float16), count, raw_dtype=kind)
            total += -(-count // ALIGNMENT) * ALIGNMENT
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_ti_data_to_file()
        self.writer.close()
        head = -(-self.path.stat().st_size // ALIGNMENT) * ALIGNMENT
        with open(self.path, "r+b") as file:
            file.truncate(head + total)
