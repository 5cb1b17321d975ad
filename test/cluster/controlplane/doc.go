// Package controlplane starts and stops a Kubernetes control plane. Each
// component is a process of the same binary.
//
// [Launcher] is the command line. Its commands are run (cmd_run.go), up
// (cmd_up.go) and down (cmd_down.go). plan.go returns the components to start,
// in their order, each with its arguments and its readiness check. group.go
// starts and stops the processes. folder.go knows the files in the directory of
// a cluster, and locks the directory.
//
// Guarantees: All components have exited when the launcher has exited: after an
// error, a signal, a failed start and, on Linux, also after SIGKILL. The
// launcher sends signals only to its own child processes; the command down also
// sends signals to the launcher that has the lock. All processes listen on
// 127.0.0.1 only.
//
// Limits: No data remains after the cluster stops, and etcd does not sync its
// files. No containers run, so logs, exec and port-forward do not work.
package controlplane
