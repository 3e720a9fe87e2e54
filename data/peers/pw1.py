"""Write data/peers/pw1.cm: the permutation of 128 hosts that other simulators were measured with.

list(range(128)) is shuffled in place by random.Random(1), again and again, until no host sends to itself:
the second shuffle is the first without fixed point. Ten of its flows stay inside a leaf of eight hosts.
"""

import random
import sys

HOSTS, HOSTS_PER_LEAF, BYTES = 128, 8, 2_000_000

draw = random.Random(1)
targets = list(range(HOSTS))
shuffles = 0
while shuffles == 0 or any(source == target for source, target in enumerate(targets)):
    draw.shuffle(targets)
    shuffles += 1
inside = sum(s // HOSTS_PER_LEAF == t // HOSTS_PER_LEAF for s, t in enumerate(targets))

out = sys.stdout
out.write(f"# Permutation of {HOSTS} hosts without fixed point, {BYTES} B each, all at once; data/peers/pw1.py.\n")
out.write(f"# Shuffle {shuffles} of random.Random(1); {inside} flows stay inside a leaf of {HOSTS_PER_LEAF} hosts.\n")
out.write(f"Nodes {HOSTS}\nConnections {HOSTS}\n")
for source, target in enumerate(targets):
    out.write(f"{source}->{target} id {source + 1} start 0 size {BYTES}\n")
