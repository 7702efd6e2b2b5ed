#!/bin/bash
# What Orrery does today, in three stories. Usage: examples/demo.sh [PATH_TO_ORRERY]
#
# Every command after a "$" can be copied. Pictures are written to build/demo.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/..
orrery=${1:-$here/build/release/bin/orrery}
[[ -x $orrery && ! -d $orrery ]] || {
  echo "demo.sh: there is no program $orrery; build it with ./dev build, or run ./dev demo, which does both" >&2
  exit 2
}
orrery=$(readlink -f "$orrery")
cd "$here"
pictures=build/demo
mkdir -p "$pictures"

if [[ -t 1 && ${CI:-} != true ]]; then
  BOLD=$'\e[1m' PLAIN=$'\e[0m'
else
  BOLD='' PLAIN=''
fi

story() { printf '\n%s%s%s\n%s\n' "$BOLD" "$1" "$PLAIN" "${1//?/=}"; }
caption() { printf '\n%s\n\n' "$1"; }
# Shows a command, folded before the option that would make a line long, and runs it.
run() {
  local line='$ orrery' words=("$@") i
  for i in "${!words[@]}"; do
    local option="${words[i]} ${words[i + 1]:-}"
    if [[ $option == --* && $((${#line} + ${#option})) -gt 110 ]]; then
      printf '%s%s \\%s\n' "$BOLD" "$line" "$PLAIN"
      line='   '
    fi
    line+=" ${words[i]}"
  done
  printf '%s%s%s\n' "$BOLD" "$line" "$PLAIN"
  "$orrery" "$@"
}

story "ResNet-50 on ImageNet"

caption "90 epochs on one device: how long, does it fit, what does it cost? low and high hold the truth in four of five
runs. Whole machines are paid for: the price list has the H100 in machines of eight only."
run predict resnet50 --device K80,P100,V100,T4,A100,H100 --batch 64 --epochs 90 --dataset-size 1281167

caption "What keeps the V100 from being faster, and what fills its memory?"
run predict resnet50 --device V100 --batch 64 --explain --top 5

caption "Does a larger batch help? Each device has a batch from which on it does not."
run predict resnet50 --device V100,A100,H100 --batch 1,4,16,64,256 --columns device,batch,samples_per_s,bound \
  --plot "$pictures/resnet50_batch.svg"

caption "How large can the batch be? The estimate is what a monitor of the device would show at the peak."
run memory resnet50 --device K80,T4,V100,A100,H100 --batch 64 \
  --columns device,memory_bytes,memory_low_bytes,memory_high_bytes,device_memory_bytes,fits,largest_batch_per_gpu

caption "Which machine to rent for the 90 epochs? Only offers that no other beats in both time and cost are shown."
run choose resnet50 --epochs 90 --dataset-size 1281167 --batch-per-gpu 64 --nodes 1 --plot "$pictures/resnet50_offers.svg" \
  --columns provider,instance,device,devices,price_usd_per_h,price_date,time_s,cost_usd,cost_low_usd,cost_high_usd

story "GPT-2 in bf16 with AdamW"

caption "1,000 steps on 1, 8 and 16 devices. Sixteen devices are two machines joined by 100 Gb/s Ethernet: the faster the
device, the more it waits for the network. V100 has no bf16 units, so its products run at the fp32 rate."
run predict gpt2 --device V100,A100,H100,B200 --count 1,8,16 --batch-per-gpu 8 --precision bf16 --optimizer adamw

caption "The same with 400 Gb/s InfiniBand and gradients exchanged inside each machine first."
run predict gpt2 --device A100,H100,B200 --count 1,8,16,64 --batch-per-gpu 8 --precision bf16 --optimizer adamw \
  --network NDR --exchange hierarchical --plot "$pictures/gpt2_scaling.svg" \
  --columns device,devices,iteration_s,samples_per_s,exposed_communication_s,bound

caption "GPT-2 XL has 1.6 billion parameters. Does it fit on one device?"
run memory gpt2_xl --device V100,A100,H100,B200 --batch 8 --precision bf16 --optimizer adamw \
  --columns device,devices,memory_bytes,device_memory_bytes,fits,largest_batch_per_gpu,activations_bytes

caption "And with parameters, gradients and optimizer states spread over eight devices (ZeRO stage 3)?"
run memory gpt2_xl --device V100,A100,H100,B200 --batch-per-gpu 8 --precision bf16 --optimizer adamw --count 8 --zero 3 \
  --columns device,devices,memory_bytes,device_memory_bytes,fits,largest_batch_per_gpu,activations_bytes

story "LeNet, trained by processes that come and go"

job=demo-$$
events=$pictures/events.jsonl
rm -f "$events"
# Waits until there is an event with all the given texts.
await() {
  local found text
  for _ in $(seq 1200); do
    found=$(cat "$events" 2>/dev/null || true)
    for text in "$@"; do found=$(grep -F -- "$text" <<<"$found" || true); done
    [[ -n $found ]] && return
    sleep 0.05
  done
  echo "demo: no event with $*" >&2
  return 1
}

caption "Three processes train on Fashion-MNIST (synthetic images where the package is missing). Each line begins with the
worker that printed it. One is killed: the others go on at once, from the step they were at. Then the job grows to four.
Steps take at least 20 ms, so that the training does not end before that on a fast machine."
run run -n 3 --elastic 1:4 --standby 2 --name "$job" --events "$events" -- \
  "$orrery" train lenet --steps 300 --pace 20ms 2>&1 &
training=$!
await '"event":"joined"' '"worker":3'
sleep 2
victim=$("$orrery" ps "$job" --csv --columns worker,process | sed -n 's/^2,\([0-9]*\).*/\1/p')
printf '%s$ kill -9 %s%s\n' "$BOLD" "$victim" "$PLAIN"
kill -9 "$victim"
await '"event":"resized"' '"size":2'
sleep 1
run resize --local "$job" 4
wait "$training"

story "Pictures"
printf '%s\n' "$pictures"/*.svg
printf '\nThe first two stories come from formulas and data sheets: no measurement has calibrated them yet (docs/reference/prediction.md).\n'
