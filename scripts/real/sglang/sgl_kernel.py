"""Stands in for SGLang's compiled kernels for CPUs, which no package index has.

SGLang imports names of this module when it runs on a CPU, and calls them only on processors with AMX; elsewhere it computes with torch.
A call is an error here.
"""


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)

    def missing(*_, **__):
        raise NotImplementedError("sgl_kernel.%s: the kernels for CPUs are not installed" % name)

    return missing
