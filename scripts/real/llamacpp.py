"""A llama.cpp server from the package xllamacpp. usage: llamacpp.py MODEL.gguf HOST PORT SLOTS [TEMPLATE.jinja]"""

import signal
import sys

import xllamacpp

model, host, port, slots = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
params = xllamacpp.CommonParams()
params.model.path = model
params.model_alias = {"tiny"}
params.hostnames = [host]
params.port = port
params.n_parallel = slots
params.n_ctx = 512 * slots
params.n_threads_http = 96  # each connection that is kept open holds one of them
params.endpoint_metrics = True
params.warmup = False
if len(sys.argv) > 5:
    with open(sys.argv[5]) as f:
        params.chat_template = f.read()
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print("serving at", server.listening_address, flush=True)
signal.sigwait({signal.SIGTERM, signal.SIGINT})
