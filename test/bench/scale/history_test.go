package scale

import (
	"fmt"
	"testing"
)

// BenchmarkHistory measures what the history of the reconciles costs, which "metascript why" shows. Two servers take turns with the same
// parents, one without a history, and with each all parents are edited several times. CPU and memory are those of the servers, and on-off
// is the ratio of the CPU times.
func BenchmarkHistory(b *testing.B) {
	binary := build(b, b.TempDir(), server)
	for _, n := range sizes(b) {
		b.Run(fmt.Sprintf("parents=%d", n), func(b *testing.B) {
			for b.Loop() {
				c := newCluster(b)
				c.define(b)
				c.warm(b)
				s := &subject{cluster: c, by: "Starlark", programs: map[string]string{server: binary}}
				measureHistory(b, s, n)
			}
		})
	}
}

// The rounds of BenchmarkHistory, and the edits of all parents in each.
const historyRounds, historyEdits = 4, 3

func measureHistory(b *testing.B, s *subject, n int) {
	first := s.start(b)
	done := s.all(b, widgets, n, observesAll)
	s.createAll(b, n)
	must(b, <-done)
	first.stop()

	cpu, rss := map[string]float64{}, map[string]float64{}
	values := 0
	for range historyRounds {
		for mode, flag := range map[string]string{"on": "32Mi", "off": "0"} {
			p := s.serve(b, s.programs[server], "--namespace=default", "--history-memory="+flag)
			p.settled(b)
			before := p.cpu(b)
			for range historyEdits {
				values++
				value := fmt.Sprintf("edit%d", values)
				done := s.all(b, configMaps, n*childrenOfEach, hasValue(value))
				s.editAll(b, n, value)
				must(b, <-done)
			}
			p.settled(b)
			cpu[mode] += (p.cpu(b) - before).Seconds()
			rss[mode] += p.memory(b, "VmRSS") / (1 << 20) / historyRounds
			p.stop()
		}
	}
	for _, mode := range []string{"on", "off"} {
		b.ReportMetric(cpu[mode], mode+"-cpu-s")
		b.ReportMetric(rss[mode], mode+"-rss-MiB")
	}
	b.ReportMetric(cpu["on"]/cpu["off"], "on-off")
}
