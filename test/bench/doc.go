// Package bench measures what a call of a script costs: its benchmarks are what "make bench" runs, and docs/benchmarks.md
// is what they say. It has nothing but tests.
//
// Every benchmark of a call stands beside two references that are measured next to it: a deep copy of the request, which
// is what a controller would do at least that hands its objects to code it does not trust, and the same function in Go
// behind an HTTP webhook on loopback, which is what it would do instead. Their ratios ("copies", "webhooks") are worth
// more than the times, which depend on the machine and on who else uses it.
//
// The names of benchmarks and their units are read by the program in report, which writes the tables.
package bench
