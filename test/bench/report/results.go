package main

import (
	"bufio"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// results are the results of one or more runs of "go test -bench".
type results struct {
	samples map[string]map[string][]float64 // by the name of the benchmark, without the number of CPUs, and by unit
	facts   []fact                          // the lines "key: value", and the number of CPUs; each key once
}

// A fact is information about the machine, or about a version of a program or module.
type fact struct{ key, value string }

// procs matches the number of CPUs, which "go test" appends to the name of a benchmark if it is not 1.
var procs = regexp.MustCompile(`-(\d+)$`)

// isFact matches the lines of facts: those of "go test" about the machine, and versions. It does not match other lines with a colon,
// such as errors.
var isFact = regexp.MustCompile(`^((goos|goarch|pkg|cpu|go): \S|\S+/\S+: v\d|\S+\.\S+: v\d)`)

// errFailed means that a benchmark failed.
var errFailed = errors.New("the benchmarks failed: no table is written")

// read returns the results in the lines of from, and copies each line to echo at once.
func read(from io.Reader, echo io.Writer) (*results, error) {
	r := &results{samples: map[string]map[string][]float64{}}
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		if _, err := io.WriteString(echo, lines.Text()+"\n"); err != nil {
			return nil, err
		}
		if lines.Text() == "FAIL" {
			return nil, errFailed
		}
		r.line(lines.Text())
	}
	return r, lines.Err()
}

// line adds the fact or the sample in a line, if it has one.
func (r *results) line(line string) {
	if key, value, _ := strings.Cut(line, ": "); isFact.MatchString(line) {
		r.addFact(key, strings.TrimSpace(value))
		return
	}
	words := strings.Fields(line)
	if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
		return
	}
	if n := procs.FindStringSubmatch(words[0]); n != nil {
		r.addFact("processors", n[1])
	}
	name := strings.TrimPrefix(procs.ReplaceAllString(words[0], ""), "Benchmark")
	if r.samples[name] == nil {
		r.samples[name] = map[string][]float64{}
	}
	for i := 2; i+1 < len(words); i += 2 {
		if value, err := strconv.ParseFloat(words[i], 64); err == nil {
			r.samples[name][words[i+1]] = append(r.samples[name][words[i+1]], value)
		}
	}
}

// addFact adds a fact, unless there is one with that key.
func (r *results) addFact(key, value string) {
	if !slices.ContainsFunc(r.facts, func(f fact) bool { return f.key == key }) {
		r.facts = append(r.facts, fact{key, value})
	}
}

// A spread summarizes the samples of several runs. Other load on the machine only makes a time longer, so the minimum is closest to
// the real cost.
type spread struct{ least, median, most float64 }

// of returns the spread of a benchmark in a unit. ok is false if there are no samples.
func (r *results) of(benchmark, unit string) (s spread, ok bool) {
	all := slices.Sorted(slices.Values(r.samples[benchmark][unit]))
	n := len(all)
	if n == 0 {
		return spread{}, false
	}
	return spread{all[0], (all[(n-1)/2] + all[n/2]) / 2, all[n-1]}, true
}
