#!/bin/bash
# sbatch slurm.sh STUDY: the first node runs the lab and the server, the others load it. The folder where
# it is submitted must be on a file system of all nodes, and steelyard[fleet] in PATH on each.
#SBATCH --job-name=steelyard
#SBATCH --nodes=5
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=02:00:00
set -euo pipefail
study=${1:-demo}
folder=$SLURM_SUBMIT_DIR/steelyard-$SLURM_JOB_ID
fleet=$folder/fleet
mkdir -m 700 "$folder" "$fleet"

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/CN=steelyard fleet" \
    -keyout "$fleet/key.pem" -out "$fleet/certificate.pem" 2> "$folder/openssl.log"
tls=(--protocol tls --tls-ca-file "$fleet/certificate.pem" --tls-cert "$fleet/certificate.pem" --tls-key "$fleet/key.pem")

mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
for number in "${!nodes[@]}"; do
    role=load
    [ "$number" -gt 0 ] || role=lab
    printf '[fleet.hosts.%s]\naddress = "%s"\nroles = ["%s"]\n' "${nodes[number]}" "${nodes[number]}" "$role"
done > "$folder/hosts.toml"

dask scheduler --scheduler-file "$fleet/scheduler.json" --no-dashboard --dashboard-address 127.0.0.1:0 \
    "${tls[@]}" 2> "$folder/scheduler.log" &
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
until [ -s "$fleet/scheduler.json" ]; do sleep 1; done

# one task per node beside the first, each named as its node
srun --nodes=$((${#nodes[@]} - 1)) --relative=1 --cpus-per-task="$SLURM_CPUS_ON_NODE" --cpu-bind=none \
    bash -c 'exec dask worker --scheduler-file "$0" --name "$SLURMD_NODENAME" --nthreads 1 --no-nanny --no-dashboard --dashboard-address 127.0.0.1:0 "$@"' \
    "$fleet/scheduler.json" "${tls[@]}" 2> "$folder/workers.log" &

until steelyard fleet check "$folder/hosts.toml"; do sleep 2; done
steelyard run "$study" --fleet "$folder/hosts.toml" --bundle "$folder/bundle"
