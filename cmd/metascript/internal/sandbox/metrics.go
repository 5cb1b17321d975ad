package sandbox

import "github.com/prometheus/client_golang/prometheus"

// Collector returns the metrics of the sandbox.
func (s *Sandbox) Collector() prometheus.Collector { return collector{s} }

// A collector counts the slots of scripts, and worker processes. It has no state: each scrape reads the statistics of the engines.
type collector struct{ sandbox *Sandbox }

// The metrics. The label isolation is InProcess or Process; lane is fast, or slow for scripts that run for long; state is busy or idle.
var (
	scriptSlots    = prometheus.NewDesc("metascript_script_slots", "Scripts that can run at a time; the slow lane is for those that take long.", []string{"isolation", "lane"}, nil)
	scriptsRunning = prometheus.NewDesc("metascript_script_slots_busy", "Scripts that run.", []string{"isolation", "lane"}, nil)
	scriptsWaiting = prometheus.NewDesc("metascript_scripts_waiting", "Scripts that wait for a slot.", []string{"isolation", "lane"}, nil)
	scriptsRunaway = prometheus.NewDesc("metascript_scripts_runaway", "Scripts that still run after their timeout, and cannot be stopped.", []string{"isolation"}, nil)
	runawaysTotal  = prometheus.NewDesc("metascript_script_runaways_total", "How many scripts could not be stopped after their timeout, since the server started.", []string{"isolation"}, nil)
	processes      = prometheus.NewDesc("metascript_worker_processes", "Worker processes that have served a script.", []string{"state"}, nil)
)

// Describe implements prometheus.Collector.
func (c collector) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{scriptSlots, scriptsRunning, scriptsWaiting, scriptsRunaway, runawaysTotal, processes} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector. Without worker processes there is no metric of them.
func (c collector) Collect(to chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, n int, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), labels...)
	}
	for isolation, engine := range c.sandbox.engines {
		stats, name := engine.Stats(), string(isolation)
		gauge(scriptSlots, stats.Fast.Slots, name, "fast")
		gauge(scriptSlots, stats.Slow.Slots, name, "slow")
		gauge(scriptsRunning, stats.Fast.Busy, name, "fast")
		gauge(scriptsRunning, stats.Slow.Busy, name, "slow")
		gauge(scriptsWaiting, stats.Fast.Waiting, name, "fast")
		gauge(scriptsWaiting, stats.Slow.Waiting, name, "slow")
		gauge(scriptsRunaway, stats.Runaways, name)
		to <- prometheus.MustNewConstMetric(runawaysTotal, prometheus.CounterValue, float64(stats.RanAway), name)
	}
	if c.sandbox.workers == nil {
		return
	}
	states := map[bool]int{}
	for _, worker := range c.sandbox.workers.Workers() {
		states[worker.Busy]++
	}
	gauge(processes, states[true], "busy")
	gauge(processes, states[false], "idle")
}
