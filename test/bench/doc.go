// Package bench measures the cost of a call of a script. "make bench" runs its benchmarks, and writes the results to
// docs/benchmarks.md. The package has only tests.
//
// Each benchmark of a call is compared with two references that are measured at the same time: a deep copy of the request, which is
// the least work for a controller that passes its objects to code that it does not trust, and the same function in Go behind an
// HTTP webhook on loopback, which is the alternative to a script. The ratios to them ("copies", "webhooks") are more useful than the
// times, which depend on the machine and on its other load.
//
// The program in report reads the names of benchmarks and their units, and writes the tables.
package bench
