// Package controlplane starts a Kubernetes control plane from processes of one
// binary and ends every one of them again.
//
// [Launcher] is the command line: its verbs run (cmd_run.go), up (cmd_up.go)
// and down (cmd_down.go). Below it, plan.go decides what is to be started, as
// data: the programs in their order, their arguments, and how to see that each
// does its work. group.go starts them and owns the processes. folder.go knows
// the files of a cluster and holds the lock that says whose they are.
//
// What is guaranteed: no process outlives its launcher, whether the launcher
// ends by itself, by a signal, after a failed start or, on Linux, by SIGKILL.
// No process is signalled but the launcher's own children and, by down, the
// launcher that holds the lock. Nothing listens on an address other than
// 127.0.0.1.
//
// What is not: data survives nothing (etcd does not even sync its files), and
// nothing runs in the pods, so logs, exec and port-forward have no answer.
package controlplane
