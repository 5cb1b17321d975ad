// Package scale measures a server on a real control plane with many parents, beside references that are measured in the same run: the
// writes alone, without a controller, and the controller of test/bench/reference with a webhook. It measures the time and the CPU time
// until all parents are synced and until an edit of all of them has reached their children, the requests to the API server, the memory,
// the time until the server acts on one edit, and the CPU time while all parents are resynced each second. It also measures the time
// until an edit of a script has an effect, the memory for a cache of many Pods and for many parents at rest, the cost of many controllers
// for one kind, and the CPU time for each Pod that a rollout replaces.
//
// "make bench-cluster" runs the benchmarks. BENCH selects some of them, and PARENTS the numbers of parents of BenchmarkScale:
//
//	make bench-cluster BENCH=Scale PARENTS=20000
//	make bench-cluster BENCH='Scale/parents=500/by=(raw|reference|Starlark)'
//
// They use the same function as a script in each language and as a webhook, each on its own control plane. The machine has other work
// too, so compare within one run. The package has only benchmarks.
package scale
