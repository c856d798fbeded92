"""Writes a data set of requests in which the model must call a function of our own, in the schema of qwen3.6-27b, as JSON to stdout.

usage: calls.py ROWS
"""

import json
import sys

function = {
    "name": "open_shelf",
    "description": "Opens one of the two shelves.",
    "parameters": {"type": "object", "properties": {"shelf": {"type": "string", "enum": ["left", "right"]}}, "required": ["shelf"]},
}
data = []
for i in range(int(sys.argv[1])):
    data.append({
        "sample_id": "simple_python_%d" % i,
        "subset": "simple_python",
        "messages": [{"role": "user", "content": "open a shelf for box %d" % i}],
        "tools": [{"type": "function", "function": function}],
        "tool_choice": "required",
        "func_description": [function],
        "ground_truth": [{"open_shelf": {"shelf": ["left", "right"]}}],
    })
json.dump(data, sys.stdout)
