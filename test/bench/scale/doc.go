// Package scale measures a server on a real control plane with many parents: how long they take to converge, what a
// sync costs in processor time, an object in memory, and how soon one change is acted on while all others are due. And
// how soon an edit of a script has its effect, and what many controllers about one kind cost. "make bench-cluster" runs it,
// with the same function as a script in each language and as a webhook, each on a control plane of its own. It has nothing
// but benchmarks.
package scale
