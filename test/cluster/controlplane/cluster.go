package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// cluster is a running control plane.
type cluster struct {
	folder    folder
	temporary bool
	lock      *os.File // held until this process ends, which tells down that it has
	group     *group
}

// errTimeout is the cause of a start's end when it took too long.
var errTimeout = errors.New("not ready in time")

// start starts a cluster in dir, in a new temporary folder if dir is empty,
// and returns when it can be used. If that fails, all that was started has
// ended and a temporary folder is gone.
func (l *Launcher) start(ctx context.Context, dir string) (*cluster, error) {
	c := &cluster{temporary: dir == ""}
	if err := c.open(dir); err != nil {
		return nil, fmt.Errorf("open the folder of the cluster: %w", err)
	}
	c.group = newGroup(c.folder, l.Executable, l.stopGrace())
	if err := l.startPlan(ctx, c); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// open makes the folder ready for use.
func (c *cluster) open(dir string) error {
	if c.temporary {
		made, err := os.MkdirTemp("", "cluster-")
		if err != nil {
			return err
		}
		dir = made
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	c.folder = folder(dir)
	c.lock, err = c.folder.acquire()
	if err != nil && c.temporary {
		os.RemoveAll(dir) // best effort: the first error is the one to tell
	}
	return err
}

// startPlan starts the components wave by wave: those of a wave start
// together, and the next wave waits until they all do their work.
func (l *Launcher) startPlan(ctx context.Context, c *cluster) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.startTimeout(), errTimeout)
	defer cancel()
	plan, err := l.newPlan(c.folder)
	if err != nil {
		return fmt.Errorf("prepare the cluster: %w", err)
	}
	for _, wave := range plan.waves {
		if err := l.startWave(ctx, c.group, wave); err != nil {
			return err
		}
	}
	return c.folder.publish(plan.kubeconfig)
}

func (l *Launcher) startWave(ctx context.Context, g *group, wave []component) error {
	var started []*process
	for _, component := range wave {
		p, err := g.start(component)
		if err != nil {
			return err
		}
		l.progress("%s started, process %d", p.name, p.cmd.Process.Pid)
		started = append(started, p)
	}
	for i, component := range wave {
		if err := await(ctx, g, started[i], component.ready); err != nil {
			return err
		}
	}
	return nil
}

// await waits until a component does its work. The end of any component is an
// error, and then it is that component which the error names.
func await(ctx context.Context, g *group, p *process, ready func(context.Context) error) error {
	if ready == nil {
		return nil
	}
	err := poll(ctx, g.failed, ready)
	switch {
	case errors.Is(err, errTimeout):
		return p.errorf("%v", err)
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted before the cluster was ready")
	}
	return err
}

// stop ends all processes and removes the files. What remains of a folder that
// the caller named are its logs.
func (c *cluster) stop() error {
	c.group.stop()
	err := c.folder.clean()
	if c.temporary {
		err = os.RemoveAll(string(c.folder))
	}
	if err != nil {
		return fmt.Errorf("remove the files of the cluster: %w", err)
	}
	return nil
}
