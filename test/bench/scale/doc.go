// Package scale measures a server on a real control plane with many parents: the time until all parents are synced, the CPU time of a
// sync, the memory for an object, and the time until the server acts on a change while all other parents are due. It also measures
// the time until an edit of a script has an effect, and the cost of many controllers for one kind. "make bench-cluster" runs the
// benchmarks. They use the same function as a script in each language and as a webhook, each on its own control plane. The package
// has only benchmarks.
package scale
