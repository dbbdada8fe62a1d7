"""A stand-in for GPUs: an RPC endpoint that reports any number of devices and allocates nothing.

Speaks as much of ggml-rpc's protocol (7.0) as a dry run asks for. Weights are padded as CUDA pads them.
"""

import functools
import socket
import struct
import threading

from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

MIB = 1 << 20
VERSION = (7, 0, 0)
ALIGNMENT = 128
BUFFER_MAX = 1 << 62
ROW_PADDING = 512

(ALLOC_BUFFER, GET_ALIGNMENT, GET_MAX_SIZE, BUFFER_BASE) = range(4)
(SET_TENSOR_HASH, GET_TENSOR, COPY_TENSOR) = (7, 8, 9)
(DEVICE_MEMORY, ALLOC_SIZE, HELLO, DEVICE_COUNT) = (11, 13, 14, 15)


def _receive(link, count):
    data = b""
    while len(data) < count:
        piece = link.recv(count - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def _alloc_size(data):
    kind = struct.unpack_from("<I", data, 4 + 8)[0]
    dims = struct.unpack_from("<4I", data, 4 + 8 + 4 + 8)
    block, size = GGML_QUANT_SIZES[GGMLQuantizationType(kind)]
    total = dims[0] // block * size * dims[1] * dims[2] * dims[3]
    if block > 1 and dims[0] % ROW_PADDING:
        total += (ROW_PADDING - dims[0] % ROW_PADDING) // block * size
    return total


def _talk(link, devices):
    next_address = 0x100000000
    try:
        while True:
            command = _receive(link, 1)[0]
            length = struct.unpack("<Q", _receive(link, 8))[0]
            data = _receive(link, length) if length else b""
            reply = lambda body: link.sendall(struct.pack("<Q", len(body)) + body)
            if command == HELLO:
                reply(bytes([*VERSION, 0]) + bytes(24))
            elif command == DEVICE_COUNT:
                reply(struct.pack("<I", len(devices)))
            elif command == DEVICE_MEMORY:
                free = devices[struct.unpack("<I", data)[0]] * MIB
                reply(struct.pack("<QQ", free, free))
            elif command == ALLOC_BUFFER:
                next_address += 0x10000000000
                reply(struct.pack("<QQ", next_address, struct.unpack("<IQ", data)[1]))
            elif command == GET_ALIGNMENT:
                reply(struct.pack("<Q", ALIGNMENT))
            elif command == GET_MAX_SIZE:
                reply(struct.pack("<Q", BUFFER_MAX))
            elif command == BUFFER_BASE:
                reply(data[:8])
            elif command == ALLOC_SIZE:
                reply(struct.pack("<Q", _alloc_size(data)))
            elif command in (SET_TENSOR_HASH, COPY_TENSOR):
                reply(b"\0")
    except (EOFError, ConnectionError):
        link.close()


def _accept(listener, devices):
    while True:
        link, _ = listener.accept()
        threading.Thread(target=_talk, args=(link, devices), daemon=True).start()


@functools.cache
def serve(devices):
    """Starts an endpoint with one device per free size in MiB; gives its address."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(8)
    threading.Thread(target=_accept, args=(listener, devices), daemon=True).start()
    return f"127.0.0.1:{listener.getsockname()[1]}"


def address(devices):
    return serve(tuple(devices)) if devices else ""
