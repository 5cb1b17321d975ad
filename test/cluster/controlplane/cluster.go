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
	temporary bool // stop removes the whole directory

	// lock is not closed: the kernel releases the lock when this process exits,
	// and the command down waits until then.
	lock *os.File

	group *group
}

// errTimeout is the cause of a context whose time limit has passed.
var errTimeout = errors.New("not ready in time")

// start starts a cluster in dir, or in a new temporary directory if dir is
// empty, and returns when the cluster is ready. If start returns an error, all
// started processes have exited, and the temporary directory is removed.
func (l *Launcher) start(ctx context.Context, dir string) (*cluster, error) {
	c := &cluster{temporary: dir == ""}
	if err := c.open(dir); err != nil {
		return nil, fmt.Errorf("open the directory of the cluster: %w", err)
	}
	c.group = newGroup(c.folder, l.Executable, l.stopGrace())
	if err := l.startPlan(ctx, c); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// open creates the directory if it does not exist, and locks it.
func (c *cluster) open(dir string) error {
	if c.temporary {
		created, err := os.MkdirTemp("", "cluster-")
		if err != nil {
			return err
		}
		dir = created
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	c.folder = folder(dir)
	c.lock, err = c.folder.acquire()
	if err != nil && c.temporary {
		os.RemoveAll(dir) // open returns the first error, not the error of RemoveAll
	}
	return err
}

// startPlan starts the components and writes the kubeconfig. A wave is a list
// of components that start at the same time. The next wave starts when all
// components of the wave before are ready.
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

// startWave starts the components of a wave and waits until they are ready.
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

// await waits until the component of p is ready; a nil ready means that await
// does not wait. If any component of the group exits, await returns an error
// that names the component that has exited.
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

// stop stops all processes and removes the files of the cluster. In a directory
// that --dir names, the logs remain.
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
