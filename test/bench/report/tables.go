package main

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
)

// tables has a function for each table that the file can have, by its name.
var tables = map[string]func(*table){
	"machine":  machine,
	"targets":  targets,
	"noop":     func(t *table) { calls(t, "Call/function=noop") },
	"status":   func(t *table) { calls(t, "Call/function=status") },
	"changed":  func(t *table) { calls(t, "Changed/function=status") },
	"full":     func(t *table) { calls(t, "Call/function=full") },
	"fixed":    fixed,
	"fairness": fairness,
	"scale":    scale,
	"edit":     edit,

	"controllers": controllers,
	"memory":      memory,
	"rollout":     rollout,
}

// A table is a table that is being written.
type table struct {
	results *results
	text    bytes.Buffer
	missing string // a result that the table needs and that does not exist; "" if there is none
}

// get returns the spread of a benchmark. If it does not exist, it sets missing.
func (t *table) get(benchmark, unit string) spread {
	s, ok := t.results.of(benchmark, unit)
	if !ok {
		t.missing = cmp.Or(t.missing, benchmark+" in "+unit)
	}
	return s
}

// cost returns the minimum of a benchmark.
func (t *table) cost(benchmark, unit string) float64 { return t.get(benchmark, unit).least }

// ratio returns the time of a benchmark divided by the time of a reference in the same group.
func (t *table) ratio(group, benchmark, reference string) float64 {
	return t.cost(group+"/"+benchmark, "ns/op") / t.cost(group+"/by="+reference, "ns/op")
}

// row writes a row.
func (t *table) row(cells ...string) { fmt.Fprintf(&t.text, "| %s |\n", strings.Join(cells, " | ")) }

// head writes the first row. All columns except the first are aligned to the right, since they have numbers.
func (t *table) head(cells ...string) {
	t.row(cells...)
	t.row(append([]string{"---"}, repeat("--:", len(cells)-1)...)...)
}

func repeat(s string, n int) []string {
	return strings.Split(strings.TrimSpace(strings.Repeat(s+" ", n)), " ")
}

var (
	languages  = []string{"Starlark", "JavaScript", "Jsonnet"}
	isolations = []string{"InProcess", "Process"}
	sizes      = []int{1, 10, 100, 1000}
)

// by returns the name of the benchmark of a language within its group.
func by(language, isolation string) string {
	return fmt.Sprintf("by=%s/isolation=%s", language, isolation)
}

func machine(t *table) {
	if len(t.results.facts) == 0 {
		t.missing = "the machine"
	}
	for _, fact := range t.results.facts {
		if fact.key != "pkg" {
			fmt.Fprintf(&t.text, "- %s: %s\n", fact.key, fact.value)
		}
	}
}

// targets compares results with the goals for them.
func targets(t *table) {
	t.head("", "at most", "measured", "")
	status := func(language, isolation, reference string, most float64) {
		for _, pods := range []int{100, 1000} {
			got := t.ratio(fmt.Sprintf("Call/function=status/pods=%d", pods), by(language, isolation), reference)
			t.target(fmt.Sprintf("%s, status of %d Pods, relative to a %s", label(language, isolation), pods, reference), got, most)
		}
	}
	status("Starlark", "InProcess", "copy", 0.15)
	status("Starlark", "InProcess", "webhook", 1./30)
	status("JavaScript", "InProcess", "copy", 0.8)
	status("JavaScript", "InProcess", "webhook", 1./6)
	status("Jsonnet", "InProcess", "webhook", 1)
	status("Starlark", "Process", "webhook", 1./5)
	for i, most := range []float64{8, 60, 150} {
		got := t.cost("Fixed/"+by(languages[i], "InProcess"), "cpu-us/call")
		t.target(languages[i]+", a call that does nothing, in µs of CPU time", got, most)
	}
}

// label returns the name of a row.
func label(language, isolation string) string {
	if isolation == "Process" {
		return language + ", Process"
	}
	return language
}

func (t *table) target(what string, got, most float64) {
	result := "met"
	if got > most {
		result = "**missed**"
	}
	t.row(what, number(most), number(got), result)
}

// calls writes the table for a function: the time of a call, and its ratio to the time of a copy of the request.
func calls(t *table, name string) {
	t.head("", "1 Pod", "10 Pods", "100 Pods", "1000 Pods", "allocated at 100")
	line := func(who, benchmark string) {
		cells := []string{who}
		for _, pods := range sizes {
			group := fmt.Sprintf("%s/pods=%d", name, pods)
			cell := duration(t.cost(group+"/"+benchmark, "ns/op"))
			if benchmark != "by=copy" {
				cell += fmt.Sprintf(" (%s×)", number(t.ratio(group, benchmark, "copy")))
			}
			cells = append(cells, cell)
		}
		at100 := fmt.Sprintf("%s/pods=100/%s", name, benchmark)
		allocated := fmt.Sprintf("%s KB in %.0f", number(t.cost(at100, "B/op")/1000), t.cost(at100, "allocs/op"))
		t.row(append(cells, allocated)...)
	}
	line("deep copy of the request", "by=copy")
	line("webhook on loopback, in Go", "by=webhook")
	for _, isolation := range isolations {
		for _, language := range languages {
			line(label(language, isolation), by(language, isolation))
		}
	}
}

func fixed(t *table) {
	t.head("", "call, InProcess", "call, Process", "compile, InProcess", "compile, Process")
	for _, language := range languages {
		cells := []string{language}
		for _, isolation := range isolations {
			cells = append(cells, number(t.cost("Fixed/"+by(language, isolation), "cpu-us/call"))+" µs")
		}
		for _, isolation := range isolations {
			cells = append(cells, duration(t.cost("Compile/"+by(language, isolation), "cpu-ns/op")))
		}
		t.row(cells...)
	}
}

func fairness(t *table) {
	t.head("neighbors", "calls per second", "p50", "p99", "longest")
	for _, isolation := range isolations {
		for i, who := range []string{"none", "one controller, 4 calls at a time", "8 controllers, 4 calls at a time each"} {
			name := fmt.Sprintf("Fairness/isolation=%s/neighbors=%d", isolation, []int{0, 1, 8}[i])
			t.row(who+", "+isolation, number(t.get(name, "calls/s").median),
				duration(1000*t.get(name, "p50-us").median), duration(1000*t.get(name, "p99-us").median), duration(1000*t.get(name, "p100-us").most))
		}
	}
}

func scale(t *table) {
	t.head("", "converged after", "CPU time", "requests per parent", "memory", "edited after", "CPU time", "one edit, p50", "one edit, p95", "CPU, resync each second")
	for _, by := range []string{"raw", "reference", "webhook", "Starlark", "JavaScript", "Jsonnet"} {
		name, who := "Scale/parents=2000/by="+by, by
		seconds := func(unit string) string { return number(t.cost(name, unit)) + " s" }
		switch by {
		case "raw":
			t.row("the writes alone", seconds("converge-s"), "", "", "", seconds("edit-s"), "", "", "", "")
			continue
		case "reference":
			who = "reference, with the webhook"
		case "webhook":
			who = "webhook on loopback, in Go"
		}
		requests := 0.
		for _, method := range []string{"GET", "POST", "PUT", "PATCH"} {
			requests += t.cost(name, method+"/parent")
		}
		t.row(who, seconds("converge-s"), seconds("converge-cpu-s"), number(requests), number(t.cost(name, "peak-MiB"))+" MiB",
			seconds("edit-s"), seconds("edit-cpu-s"), duration(1e6*t.cost(name, "quiet-p50-ms")), duration(1e6*t.cost(name, "quiet-p95-ms")),
			number(100*t.cost(name, "resync-cpu-s/s"))+" % of a core")
	}
}

func edit(t *table) {
	t.head("", "first parent, p50", "first parent, longest", "all parents, p50", "all parents, longest")
	for _, source := range []string{"mounted", "ConfigMap"} {
		for i, who := range []string{"1 parent", "1,000 parents"} {
			name := fmt.Sprintf("Edit/source=%s/parents=%d", source, []int{1, 1000}[i])
			ms := func(unit string) string { return duration(1e6 * t.cost(name, unit)) }
			what := map[string]string{"mounted": "a mounted file", "ConfigMap": "a ConfigMap through the API"}[source]
			t.row(what+", "+who, ms("first-p50-ms"), ms("first-p100-ms"), ms("all-p50-ms"), ms("all-p100-ms"))
		}
	}
}

func controllers(t *table) {
	t.head("", "ready after", "CPU time until then", "memory at rest", "CPU at rest")
	for _, kind := range []string{"CompositeController", "DecoratorController"} {
		for _, n := range []int{50, 200, 1000} {
			name := fmt.Sprintf("Controllers/kind=%s/controllers=%d", kind, n)
			t.row(fmt.Sprintf("%d %ss", n, kind), number(t.cost(name, "ready-s"))+" s", number(t.cost(name, "ready-cpu-s"))+" s",
				number(t.cost(name, "rest-MiB"))+" MiB", number(t.cost(name, "rest-%cpu"))+" % of a core")
		}
	}
}

// memory writes the table of the caches of Pods. What a process without Pods needs is subtracted from the CPU time and the heap.
func memory(t *table) {
	t.head("", "20,000 Pods", "maximum", "CPU time to fill", "heap per Pod")
	for _, row := range []struct{ by, who string }{
		{"reference", "reference: the informers of client-go"}, {"server", "the server"}, {"generateSelector", "the server, with generateSelector"},
	} {
		of := func(unit string) float64 { return t.cost("Memory/pods=20000/by="+row.by, unit) }
		more := func(unit string) float64 { return max(0, of(unit)-t.cost("Memory/pods=0/by="+row.by, unit)) }
		t.row(row.who, number(of("steady-MiB"))+" MiB", number(of("peak-MiB"))+" MiB", number(more("fill-cpu-s"))+" s", number(more("heap-MiB")/20_000*(1<<20)/1000)+" KB")
	}
}

// number returns x with about three digits.
func number(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	case x >= 0.1 || x == 0:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.2g", x)
}

// duration returns a time in a unit such that the number is not very large or small.
func duration(ns float64) string {
	switch {
	case ns >= 1e6:
		return number(ns/1e6) + " ms"
	case ns >= 1e3:
		return number(ns/1e3) + " µs"
	}
	return number(ns) + " ns"
}

func rollout(t *table) {
	t.head("Pods in the set", "CPU time for a Pod", "times that of the set of 50", "syncs for a Pod")
	for _, n := range []int{50, 200, 1000} {
		of := func(n int, unit string) float64 { return t.cost(fmt.Sprintf("Rollout/pods=%d", n), unit) }
		t.row(fmt.Sprint(n), fmt.Sprintf("%.0f ms", of(n, "cpu-ms/pod")), fmt.Sprintf("%.1f", of(n, "cpu-ms/pod")/of(50, "cpu-ms/pod")), fmt.Sprintf("%.1f", of(n, "syncs/pod")))
	}
}
