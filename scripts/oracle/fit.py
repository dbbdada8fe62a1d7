"""What `--fit` chooses on random stand-in machines, and what that takes: for our own search to be held against."""

import pathlib
import random
import shlex
import subprocess

import models
import standin

COUNT = 200
NAMES = [
    "llama-3.1-8b-Q4_K_M.gguf", "qwen3-8b-Q4_K_M.gguf", "gemma-3-12b-Q4_K_M.gguf", "qwen3-30b-a3b-Q4_K_M.gguf",
    "gpt-oss-20b-MXFP4.gguf", "qwen3.6-27b-Q4_K_M.gguf", "qwen3.6-35b-a3b-Q4_K_M.gguf", "glm-4.7-flash-Q4_K_M.gguf",
    "gemma-4-26b-a4b-Q4_K_M.gguf", "seed-oss-36b-Q4_K_M.gguf", "glm-4.5-air-Q4_K_M.gguf", "phi-4-Q4_K_M.gguf",
    "nemotron-3-nano-30b-a3b-Q4_K_M.gguf", "granite-4.0-micro-Q4_K_M.gguf",
]
SIZES = [4_000, 6_000, 7_700, 11_500, 15_500, 23_500, 31_000, 47_000, 79_000]


def machines():
    """The same ones every time."""
    dice = random.Random(18)
    for _ in range(COUNT):
        devices = [dice.choice(SIZES) + dice.randrange(-300, 300) for _ in range(dice.choice([1, 1, 1, 2, 2, 3]))]
        context = dice.choice([None, None, 8192, 16384, 32768])
        yield {"model": dice.choice(NAMES), "devices": devices, "context": context}


def run(fit_params, path, machine, *more):
    command = [fit_params, "-m", path, "-np", 1, "-ub", 512, "--rpc", standin.serve(tuple(machine["devices"])), *more]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    return done.stdout.strip().splitlines()


def chosen(fit_params, path, machine):
    """The arguments, and MiB per device and host as printed; `None` when it gives up."""
    context = ["-c", machine["context"]] if machine["context"] else []
    lines = [line for line in run(fit_params, path, machine, *context) if line.startswith("-")]
    if not lines:
        return None
    arguments = shlex.split(lines[-1])
    printed = run(fit_params, path, machine, *arguments, "-fitp", "on")
    rows = [line.split() for line in printed]
    rows = [[int(number) for number in row[1:]] for row in rows if len(row) == 4 and row[1].isdigit()]
    if len(rows) != len(machine["devices"]) + 1:
        return None
    told = dict(zip(arguments, arguments[1:]))
    return {"context": int(told.get("-c", 0)), "rows": rows}


def record(fit_params, folder):
    folder = pathlib.Path(folder)
    out = []
    for machine in machines():
        path = folder / machine["model"]
        if not path.exists():
            models.MODELS[machine["model"]](path)
        out.append({**machine, "fit": chosen(fit_params, path, machine)})
        print(".", end="", flush=True)
    print(f" --fit: {len(out)}")
    return out
