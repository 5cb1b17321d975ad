package hostile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"sync"
)

// attacked is a pool of processes of the command trial. There are as many as scripts run at the same time.
type attacked struct {
	command, isolation string
	again              bool // a process is used for the next script, unless a script has ended it or still runs

	mu   sync.Mutex // guards idle
	idle []*process
}

// A process is a process of the command trial, which runs one script at a time.
type process struct {
	*exec.Cmd
	jobs    io.WriteCloser
	encoder *json.Encoder
	reports *json.Decoder
	stderr  bytes.Buffer
}

// run runs a script. It returns an error if the process dies.
func (a *attacked) run(j job) (*report, error) {
	p, err := a.take()
	if err != nil {
		return nil, err
	}
	var r report
	if err = p.encoder.Encode(j); err == nil {
		err = p.reports.Decode(&r)
	}
	if err != nil || !a.again || r.Goes {
		p.jobs.Close()
		if died := p.Wait(); err != nil || died != nil {
			return nil, fmt.Errorf("the process died: %v, %v\n%s", died, err, p.stderr.Bytes()[:min(p.stderr.Len(), 4<<10)])
		}
		return &r, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.idle = append(a.idle, p)
	return &r, nil
}

// take returns an idle process, or starts one.
func (a *attacked) take() (*process, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.idle); n > 0 {
		p := a.idle[n-1]
		a.idle = a.idle[:n-1]
		return p, nil
	}
	p := &process{Cmd: exec.Command(a.command, a.isolation)}
	p.Stderr = &p.stderr
	var err error
	if p.jobs, err = p.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.encoder, p.reports = json.NewEncoder(p.jobs), json.NewDecoder(stdout)
	return p, p.Start()
}

// end stops the processes, which must be idle.
func (a *attacked) end() {
	for _, p := range a.idle {
		p.jobs.Close()
		_ = p.Wait() // the result does not matter: it has no job
	}
}
