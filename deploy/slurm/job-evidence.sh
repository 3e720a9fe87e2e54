# Source this in a batch script, before srun: NCCL and PyTorch then leave their evidence where `railtwin watch` looks.
#
#   export EVIDENCE=/shared/railtwin
#   source job-evidence.sh
#   srun --output="$JOB_EVIDENCE/%t.log" python train.py
JOB_EVIDENCE=${EVIDENCE:?set EVIDENCE to the folder that railtwin watch follows}/jobs/${SLURM_JOB_ID:-$$}
mkdir -p "$JOB_EVIDENCE"
export JOB_EVIDENCE
# Warnings of NCCL, a file for each process.
export NCCL_DEBUG=${NCCL_DEBUG:-WARN}
export NCCL_DEBUG_FILE=$JOB_EVIDENCE/nccl_%h_%p.log
# Dumps of the Flight Recorder when a collective runs into the watchdog's limit.
export TORCH_NCCL_TRACE_BUFFER_SIZE=${TORCH_NCCL_TRACE_BUFFER_SIZE:-2000}
export TORCH_NCCL_DUMP_ON_TIMEOUT=1
export TORCH_NCCL_DEBUG_INFO_TEMP_FILE=$JOB_EVIDENCE/nccl_trace_rank_
export TORCH_FR_DUMP_TEMP_FILE=$JOB_EVIDENCE/nccl_trace_rank_
# Times of operations, where NCCL has the Inspector (2.28 and later) and its plugin is installed.
export NCCL_INSPECTOR_ENABLE=${NCCL_INSPECTOR_ENABLE:-0}
export NCCL_INSPECTOR_DUMP_DIR=$JOB_EVIDENCE/inspector
