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

// Results are what the lines of "go test -bench" say, over several runs of the same benchmarks.
type results struct {
	samples map[string]map[string][]float64 // by name, without the number of processors, and unit
	facts   []fact                          // the lines "key: value", and how many processors there are; each key once
}

// A fact is about the machine or about what is measured.
type fact struct{ key, value string }

// procs is what "go test" puts behind a name, which is none where there is one processor.
var procs = regexp.MustCompile(`-(\d+)$`)

// isFact tells facts from other lines with a colon, such as errors: what "go test" says of the machine, and versions.
var isFact = regexp.MustCompile(`^((goos|goarch|pkg|cpu|go): \S|\S+/\S+: v\d|\S+\.\S+: v\d)`)

// errFailed says that the benchmarks did not all run.
var errFailed = errors.New("the benchmarks failed: no table is written")

// read reads lines, and copies them to echo as they come.
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

func (r *results) line(line string) {
	if key, value, _ := strings.Cut(line, ": "); isFact.MatchString(line) {
		r.know(key, strings.TrimSpace(value))
		return
	}
	words := strings.Fields(line)
	if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
		return
	}
	if n := procs.FindStringSubmatch(words[0]); n != nil {
		r.know("processors", n[1])
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

// know adds a fact, unless there is one of that key.
func (r *results) know(key, value string) {
	if !slices.ContainsFunc(r.facts, func(f fact) bool { return f.key == key }) {
		r.facts = append(r.facts, fact{key, value})
	}
}

// A spread is what was measured in several runs. What disturbs a measurement makes it longer, so that the least is the
// nearest to what something costs.
type spread struct{ least, median, most float64 }

// of returns what was measured, in a unit.
func (r *results) of(benchmark, unit string) (s spread, ok bool) {
	all := slices.Sorted(slices.Values(r.samples[benchmark][unit]))
	n := len(all)
	if n == 0 {
		return spread{}, false
	}
	return spread{all[0], (all[(n-1)/2] + all[n/2]) / 2, all[n-1]}, true
}
