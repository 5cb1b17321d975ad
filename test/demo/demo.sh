#!/usr/bin/env bash
# The demo: the examples at work on a real control plane. With "stay" it sets everything up, says how to talk to it,
# and stays until Ctrl-C. It ends all that it started, however it ends; in a cluster that KUBECONFIG names it removes
# the objects that it made.
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

# until_is WANT COMMAND...: wait until the command prints WANT.
until_is() {
  local want=$1 got='' tries=0; shift
  until got=$("$@" 2>/dev/null) && [ "$got" = "$want" ]; do
    tries=$((tries + 1))
    if [ "$tries" -ge 300 ]; then echo "waited in vain for \"$want\" from: $* (last: \"$got\")" >&2; return 1; fi
    sleep 0.1
  done
}
field() { kubectl get "$1" "$2" -o "jsonpath=$3"; }

finish() {
  local code=$?
  trap - EXIT INT TERM
  if [ "$code" -ne 0 ]; then
    printf '\n%sfailed%s during: %s\n' "$red" "$plain" "${watching:-the start}" >&2
    [ -f "$dir/server.log" ] && { echo "the last lines of the server's log:" >&2; tail -n 15 "$dir/server.log" >&2; }
  fi
  if [ -n "$theirs" ] && [ -n "$server_pid" ]; then
    for e in "${examples[@]}"; do
      kubectl delete --ignore-not-found -f "examples/$e/parent.yaml" -f "examples/$e/controller.yaml" -f "examples/$e/crd.yaml" >/dev/null 2>&1 || true
    done
  fi
  if [ -n "$server_pid" ]; then
    kill -TERM "$server_pid" 2>/dev/null || true
    if wait "$server_pid"; then :; else echo "the server ended with code $?" >&2; [ "$code" -ne 0 ] || code=1; fi
  fi
  exec 3>&- || true # the cluster ends when its input does
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
  ok "the server runs, process $server_pid"
}

apply_examples() {
  chapter "Four controllers, each a script inside its own object"
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
  ok "Starlark, JavaScript and Jsonnet: three parents have their Pods, and the Pods are Ready"
  until_is 3 field pythonlambdas hello '{.status.readyReplicas}'
  ok "a PythonLambda has its ConfigMap, its Service and a Deployment with 3 Pods Ready"
  show kubectl get immortalcontainers,immortalcontainersjs,immortalcontainersjsonnet,pythonlambdas
}

uid() { field pod "$1" '{.metadata.uid}'; }
new_pod() { # NAME OLD-UID: prints yes once another Pod of that name runs
  [ "$(uid "$1")" != "$2" ] && [ "$(field pod "$1" '{.status.phase}')" = Running ] && echo yes
}

come_back() { # NAME: delete the Pod and wait for its successor
  local old; old=$(uid "$1")
  k delete pod "$1" --wait=false
  until_is yes new_pod "$1" "$old"
}

pod_deleted() {
  chapter "Somebody deletes the Pods"
  for name in phoenix lazarus osiris; do
    come_back "$name-immortalpod"
    ok "$name-immortalpod is back"
  done
}

image_changed() {
  chapter "Somebody changes spec.image of a parent, and spec.code of another"
  local old; old=$(uid lazarus-immortalpod)
  k patch immortalcontainersjs lazarus --type=merge -p '{"spec":{"image":"nginx:1.30"}}'
  until_is yes new_pod lazarus-immortalpod "$old"
  until_is nginx:1.30 field pod lazarus-immortalpod '{.spec.containers[0].image}'
  ok "the Pod was replaced (updateStrategy Recreate) and runs nginx:1.30"
  k patch pythonlambdas hello --type=merge -p '{"spec":{"code":"print(\"hello again\")\n"}}'
  until_is 2 field deployment hello '{.metadata.annotations.deployment\.kubernetes\.io/revision}'
  ok "the Deployment rolls: its template carries a hash of the code (updateStrategy InPlace)"
}

script_edited() {
  chapter "Somebody edits a script in place: Pods shall be called <name>-forever"
  sed 's/-immortalpod/-forever/' examples/immortalcontainer/controller.yaml | k apply -f -
  until_is phoenix-forever field immortalcontainers phoenix '{.status.currentPod}'
  k wait --for=delete pod/phoenix-immortalpod --timeout=60s
  ok "a moment later phoenix-forever runs, and phoenix-immortalpod is gone; nothing was built or restarted"
}

script_broken() {
  chapter "Somebody breaks the script"
  sed 's/-immortalpod/-forever/; s/if name in pods else ""/if name in pods els ""/' examples/immortalcontainer/controller.yaml | k apply -f -
  k wait --for=condition=ScriptReady=false compositecontroller/immortalcontainers --timeout=60s
  say "the condition ScriptReady says:"
  show field compositecontroller immortalcontainers '{.status.conditions[?(@.type=="ScriptReady")].message}{"\n"}'
  show kubectl get compositecontroller immortalcontainers -o wide
  come_back phoenix-forever
  ok "the version before keeps running: a deleted Pod came back under it"
}

parent_deleted() {
  chapter "Somebody deletes the parents"
  say "(the garbage collector of Kubernetes learns of new kinds every 30 s, so this takes a while)"
  k delete immortalcontainers/phoenix pythonlambdas/hello
  k wait --for=delete pod/phoenix-forever deployment/hello service/hello configmap/hello --timeout=60s
  ok "their children are gone"
}

stay() {
  chapter "It stays until Ctrl-C"
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
