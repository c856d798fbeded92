"""Writes a data set of short prompts of our own as JSON to stdout.

usage: prompts.py ROWS [FIRST_ID LAST_ID]

With ids a row carries a prompt as token ids too, between the two, of 8 to 71 ids; both are the same each time.
"""

import json
import random
import sys

rows = int(sys.argv[1])
ids = [int(a) for a in sys.argv[2:4]]
choose = random.Random(1)
things = ["boxes", "ropes", "lamps", "doors", "wheels", "stones"]
data = []
for i in range(rows):
    row = {"input": "shelf %d holds %d %s: count them one by one" % (i, choose.randrange(3, 40), choose.choice(things)), "output": "none"}
    if ids:
        row["tok_input"] = [choose.randint(ids[0], ids[1]) for _ in range(8 + i % 64)]
    data.append(row)
json.dump(data, sys.stdout)
