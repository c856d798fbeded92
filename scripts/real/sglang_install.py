"""Prints what the package sglang needs on a machine without a GPU, run by the Python of its own environment.

usage: sglang_install.py >requirements.txt

Left out are kernels for GPUs, what only they need, and clients that no test starts.
"""

import importlib.metadata as metadata
import re

GPU = {
    "apache-tvm-ffi", "cuda-python", "flash-attn-4", "flashinfer-python", "humming-kernels", "nvidia-cutlass-dsl", "nvidia-mathdx",
    "nvshmem4py-cu13", "quack-kernels", "sgl-deep-ep", "sgl-deep-gemm", "sgl-flash-mla", "sglang-kernel", "tilelang", "torch-memory-saver",
    "torchcodec",
}
UNUSED = {"anthropic", "deepseek-recipe", "smg-grpc-servicer", "tml-renderers"}

for line in metadata.distribution("sglang").requires or []:
    name = re.match(r"[A-Za-z0-9._-]+", line).group(0).lower().replace("_", "-")
    if "extra ==" not in line and name not in GPU | UNUSED:
        print(line)
