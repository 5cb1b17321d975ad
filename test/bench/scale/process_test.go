package scale

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"metascript/test/address"
)

// A process is a controller that runs: a server, or the reference.
type process struct {
	command *exec.Cmd
	metrics string // the URL of its metrics
	profile string // the URL of its heap profile
}

// The programs.
const (
	server    = "./cmd/metascript"
	reference = "./test/bench/reference"
)

// build builds a program of the module into dir.
func build(b *testing.B, dir, program string) (binary string) {
	b.Helper()
	binary = filepath.Join(dir, filepath.Base(program))
	command := exec.Command("go", "build", "-o", binary, program)
	command.Dir, command.Stderr = root, os.Stderr
	must(b, command.Run())
	return binary
}

// serve starts a server and waits until it is ready.
func (c *cluster) serve(b *testing.B, binary string, flags ...string) *process {
	b.Helper()
	metrics, health, profiles := free(b), free(b), free(b)
	p := start(b, exec.Command(binary, append([]string{"controller", "--kubeconfig=" + c.kubeconfig, "--metrics-address=" + metrics,
		"--health-probe-bind-address=" + health, "--pprof-address=" + profiles}, flags...)...))
	p.metrics, p.profile = "http://"+metrics+"/metrics", "http://"+profiles+"/debug/pprof/heap"
	awaitReady(b, "http://"+health+"/readyz")
	return p
}

// refer starts the reference, which calls a webhook, and waits until it is ready.
func (c *cluster) refer(b *testing.B, binary, webhook string, flags ...string) *process {
	b.Helper()
	own := free(b)
	p := start(b, exec.Command(binary, append([]string{"--kubeconfig=" + c.kubeconfig, "--webhook=" + webhook,
		"--parents=widgets.v1.bench.example.com", "--metrics-address=" + own}, flags...)...))
	p.metrics, p.profile = "http://"+own+"/metrics", "http://"+own+"/debug/pprof/heap"
	awaitReady(b, "http://"+own+"/readyz")
	return p
}

func free(b *testing.B) string {
	b.Helper()
	free, err := address.Free()
	must(b, err)
	return free
}

// start starts a process, which is stopped at the end of the benchmark.
func start(b *testing.B, command *exec.Cmd) *process {
	b.Helper()
	var log bytes.Buffer
	command.Stderr = &log
	must(b, command.Start())
	p := &process{command: command}
	b.Cleanup(func() {
		p.stop()
		if b.Failed() {
			b.Log(log.String())
		}
	})
	return p
}

// stop stops the process, unless it was stopped.
func (p *process) stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	_ = p.command.Wait()
}

// awaitReady waits until a server responds that it is ready.
func awaitReady(b *testing.B, url string) {
	b.Helper()
	wait(b, func() bool {
		resp, err := http.Get(url)
		if err == nil {
			resp.Body.Close()
		}
		return err == nil && resp.StatusCode == http.StatusOK
	})
}

// total returns the sum of all series of a metric.
func (p *process) total(b *testing.B, metric string) float64 {
	b.Helper()
	n := 0.
	for _, value := range p.by(b, metric, "") {
		n += value
	}
	return n
}

// by returns the sums of the series of a metric with the same value of a label: the values of counters and gauges, and the sample counts
// of histograms.
func (p *process) by(b *testing.B, metric, label string) map[string]float64 {
	b.Helper()
	resp, err := http.Get(p.metrics)
	must(b, err)
	defer resp.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	must(b, err)
	sums := map[string]float64{}
	for _, m := range families[metric].GetMetric() {
		key := ""
		for _, pair := range m.GetLabel() {
			if pair.GetName() == label {
				key = pair.GetValue()
			}
		}
		sums[key] += float64(m.GetHistogram().GetSampleCount()) + m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return sums
}

// cpu returns the CPU time that the process has used, without its child processes.
func (p *process) cpu(b *testing.B) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.command.Process.Pid))
	must(b, err)
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	must(b, err)
	system, err := strconv.Atoi(fields[12])
	must(b, err)
	return time.Duration(user+system) * tick
}

// tick is the unit of CPU times on Linux.
const tick = 10 * time.Millisecond

// memory returns a value in /proc/PID/status, in bytes: VmRSS is the current resident memory, VmHWM its maximum.
func (p *process) memory(b *testing.B, line string) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	must(b, err)
	_, after, _ := bytes.Cut(text, []byte("\n"+line+":"))
	kib, err := strconv.Atoi(strings.Fields(string(after))[0])
	must(b, err)
	return float64(kib) * 1024
}

// settled waits until the process does nothing: it uses less than 3 % of a CPU for a second.
func (p *process) settled(b *testing.B) {
	b.Helper()
	for last := time.Duration(0); p.cpu(b)-last > 2*tick; time.Sleep(time.Second) {
		last = p.cpu(b)
	}
}
