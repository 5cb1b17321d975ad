#!/usr/bin/env bash
# demo.sh [stay]: runs the examples on a real control plane. With "stay", it starts the cluster, the server and the examples, prints
# how to use them, and waits until Ctrl-C. When the script exits, it stops all processes that it started. If KUBECONFIG is set, it
# uses that cluster, and deletes the controllers, the CRDs and the parents of the examples at the end.
set -euo pipefail
cd "$(dirname "$0")/../.."

mode=${1:-demo}
build=${BUILD:-build}
dir=$(mktemp -d)
cluster_pid='' server_pid='' watching='' theirs=${KUBECONFIG:-}
examples=(immortalcontainer immortalcontainer-js immortalcontainer-jsonnet pythonlambda)

bold='' dim='' green='' red='' plain=''
if [ -t 1 ]; then bold=$'\e[1m' dim=$'\e[2m' green=$'\e[32m' red=$'\e[31m' plain=$'\e[0m'; fi

chapter() { watching=$1; printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }
say()     { printf '  %s\n' "$*"; }
ok()      { printf '  %s✓%s %s\n' "$green" "$plain" "$*"; }
kubectl() { "$build/cluster" kubectl "$@"; }
k()       { kubectl "$@" >/dev/null; }
show()    { printf '%s' "$dim"; "$@" | sed 's/^/    /'; printf '%s' "$plain"; }

# until_is WANT COMMAND...: wait until the output of the command is WANT.
until_is() {
  local want=$1 got='' tries=0; shift
  until got=$("$@" 2>/dev/null) && [ "$got" = "$want" ]; do
    tries=$((tries + 1))
    if [ "$tries" -ge 300 ]; then echo "timeout: $* does not print \"$want\" (last output: \"$got\")" >&2; return 1; fi
    sleep 0.1
  done
}
field() { kubectl get "$1" "$2" -o "jsonpath=$3"; }

finish() {
  local code=$?
  trap - EXIT INT TERM
  if [ "$code" -ne 0 ]; then
    printf '\n%sfailed%s in the step: %s\n' "$red" "$plain" "${watching:-start}" >&2
    [ -f "$dir/server.log" ] && { echo "the last lines of the log of the server:" >&2; tail -n 15 "$dir/server.log" >&2; }
  fi
  if [ -n "$theirs" ] && [ -n "$server_pid" ]; then
    for e in "${examples[@]}"; do
      kubectl delete --ignore-not-found -f "examples/$e/parent.yaml" -f "examples/$e/controller.yaml" -f "examples/$e/crd.yaml" >/dev/null 2>&1 || true
    done
  fi
  if [ -n "$server_pid" ]; then
    kill -TERM "$server_pid" 2>/dev/null || true
    if wait "$server_pid"; then :; else echo "the server exited with code $?" >&2; [ "$code" -ne 0 ] || code=1; fi
  fi
  exec 3>&- || true # the cluster stops at the end of its standard input
  [ -z "$cluster_pid" ] || wait "$cluster_pid" 2>/dev/null || true
  rm -rf "$dir"
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

start_cluster() {
  chapter "A control plane: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok nodes"
  mkfifo "$dir/input"
  "$build/cluster" run --until-eof <"$dir/input" >"$dir/cluster.out" 2>"$dir/cluster.log" &
  cluster_pid=$!
  exec 3>"$dir/input"
  until grep -q '^KUBECONFIG=' "$dir/cluster.out"; do
    if ! kill -0 "$cluster_pid" 2>/dev/null; then cat "$dir/cluster.log" >&2; return 1; fi
    sleep 0.1
  done
  KUBECONFIG=$(sed -n 's/^KUBECONFIG=//p' "$dir/cluster.out")
  export KUBECONFIG
  ok "$(kubectl get --raw /version | sed -n 's/.*"gitVersion": "\(.*\)".*/kube-apiserver \1/p') with $(kubectl get nodes -o name | wc -l | tr -d ' ') nodes"
}

start_server() {
  chapter "metascript: one process for all controllers"
  k apply -f manifests/crds
  k wait --for=condition=Established crd/compositecontrollers.metacontroller.k8s.io crd/decoratorcontrollers.metacontroller.k8s.io --timeout=30s
  "$build/metascript" controller --health-probe-bind-address=0 >"$dir/server.log" 2>&1 &
  server_pid=$!
  ok "the server is running, process $server_pid"
}

apply_examples() {
  chapter "Four controllers, each with a script in its own object"
  for e in "${examples[@]}"; do k apply -f "examples/$e/crd.yaml" -f "examples/$e/controller.yaml"; done
  for c in immortalcontainers immortalcontainersjs immortalcontainersjsonnet pythonlambdas; do
    k wait --for=condition=Ready "compositecontroller/$c" --timeout=60s
  done
  show kubectl get compositecontrollers
  for e in "${examples[@]}"; do k apply -f "examples/$e/parent.yaml"; done
  until_is phoenix-immortalpod field immortalcontainers phoenix '{.status.currentPod}'
  until_is lazarus-immortalpod field immortalcontainersjs lazarus '{.status.currentPod}'
  until_is osiris-immortalpod field immortalcontainersjsonnet osiris '{.status.currentPod}'
  k wait --for=condition=Ready pod/phoenix-immortalpod pod/lazarus-immortalpod pod/osiris-immortalpod --timeout=60s
  ok "controllers in Starlark, JavaScript and Jsonnet: each of the three parents has its Pod, and the Pods are Ready"
  until_is 3 field pythonlambdas hello '{.status.readyReplicas}'
  ok "a PythonLambda has its ConfigMap, its Service and its Deployment with 3 ready Pods"
  show kubectl get immortalcontainers,immortalcontainersjs,immortalcontainersjsonnet,pythonlambdas
}

uid() { field pod "$1" '{.metadata.uid}'; }
new_pod() { # NAME OLD-UID: print yes if a new Pod with this name is Running
  [ "$(uid "$1")" != "$2" ] && [ "$(field pod "$1" '{.status.phase}')" = Running ] && echo yes
}

come_back() { # NAME: delete the Pod and wait until a new Pod with this name is Running
  local old; old=$(uid "$1")
  k delete pod "$1" --wait=false
  until_is yes new_pod "$1" "$old"
}

pod_deleted() {
  chapter "Somebody deletes the Pods"
  for name in phoenix lazarus osiris; do
    come_back "$name-immortalpod"
    ok "$name-immortalpod was created again"
  done
}

image_changed() {
  chapter "Somebody changes spec.image of one parent, and spec.code of another"
  local old; old=$(uid lazarus-immortalpod)
  k patch immortalcontainersjs lazarus --type=merge -p '{"spec":{"image":"nginx:1.30"}}'
  until_is yes new_pod lazarus-immortalpod "$old"
  until_is nginx:1.30 field pod lazarus-immortalpod '{.spec.containers[0].image}'
  ok "the Pod was deleted and created again with nginx:1.30 (updateStrategy Recreate)"
  k patch pythonlambdas hello --type=merge -p '{"spec":{"code":"print(\"hello again\")\n"}}'
  until_is 2 field deployment hello '{.metadata.annotations.deployment\.kubernetes\.io/revision}'
  ok "the Deployment was updated and rolls out new Pods: its Pod template has a hash of the code (updateStrategy InPlace)"
}

script_edited() {
  chapter "Somebody edits a script: Pods get the name <parent>-forever"
  sed 's/-immortalpod/-forever/' examples/immortalcontainer/controller.yaml | k apply -f -
  until_is phoenix-forever field immortalcontainers phoenix '{.status.currentPod}'
  k wait --for=delete pod/phoenix-immortalpod --timeout=60s
  ok "phoenix-forever was created, and phoenix-immortalpod was deleted; nothing was built or restarted"
}

script_broken() {
  chapter "Somebody edits the script and makes a syntax error"
  sed 's/-immortalpod/-forever/; s/if name in pods else ""/if name in pods els ""/' examples/immortalcontainer/controller.yaml | k apply -f -
  k wait --for=condition=ScriptReady=false compositecontroller/immortalcontainers --timeout=60s
  say "the message of the condition ScriptReady:"
  show field compositecontroller immortalcontainers '{.status.conditions[?(@.type=="ScriptReady")].message}{"\n"}'
  show kubectl get compositecontroller immortalcontainers -o wide
  come_back phoenix-forever
  ok "the previous version keeps running: it created a deleted Pod again"
}

parent_deleted() {
  chapter "Somebody deletes the parents"
  say "(this can take 30 s, because the garbage collector of Kubernetes looks for new kinds only every 30 s)"
  k delete immortalcontainers/phoenix pythonlambdas/hello
  k wait --for=delete pod/phoenix-forever deployment/hello service/hello configmap/hello --timeout=60s
  ok "their children were deleted"
}

stay() {
  chapter "The cluster and the server run until Ctrl-C. Commands to try:"
  say "export KUBECONFIG=$KUBECONFIG"
  say "alias kubectl=\"$PWD/$build/cluster kubectl\""
  say "kubectl get compositecontrollers,immortalcontainers,pods"
  say "kubectl edit compositecontroller immortalcontainers"
  say "tail -f $dir/server.log"
  trap 'exit 0' INT TERM
  wait "$server_pid"
}

start_cluster
start_server
apply_examples
if [ "$mode" = stay ]; then stay; exit; fi
pod_deleted
image_changed
script_edited
script_broken
parent_deleted
chapter "Done in $SECONDS s; cleaning up"
