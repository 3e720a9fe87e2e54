#!/usr/bin/env bash
# Epilog of Slurm (Epilog= in slurm.conf): one more round of a host's counters when a job leaves it, so that the last
# minute of a job that died is there.
EVIDENCE=${EVIDENCE:-/shared/railtwin}
exec /usr/local/bin/collect-host "$EVIDENCE/hosts"
