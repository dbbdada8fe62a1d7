"""Reads what a plan needs of a GGUF header, small enough to keep: no words, no templates, equal layers together."""

import re

import gguf


def read(path):
    reader = gguf.GGUFReader(path)
    metadata = {}
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key.startswith("general.") and key != "general.architecture" and key != "general.file_type":
            continue
        if field.types[0] == gguf.GGUFValueType.ARRAY:
            short = len(field.data) <= 512 and not key.startswith("tokenizer.")
            metadata[key] = field.contents() if short else {"items": len(field.data)}
        elif not key.startswith("tokenizer."):
            metadata[key] = field.contents()
    groups = {}
    for tensor in reader.tensors:
        found = re.match(r"blk\.(\d+)\.(.*)", tensor.name)
        name, layer = (found.group(2), int(found.group(1))) if found else (tensor.name, None)
        key = (found is not None, name, tuple(int(dim) for dim in tensor.shape), tensor.tensor_type.name)
        groups.setdefault(key, []).append(layer)
    tensors = [[("blk.*." if repeated else "") + name, list(dims), kind, ranges(layers) if repeated else ""]
               for (repeated, name, dims, kind), layers in groups.items()]
    return {"bytes": path.stat().st_size, "metadata": metadata, "tensors": tensors}


def ranges(numbers):
    """0,1,2,5 -> "0-2 5"."""
    out = []
    for number in sorted(numbers):
        if out and out[-1][1] == number - 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in out)
