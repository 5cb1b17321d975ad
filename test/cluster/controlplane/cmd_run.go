package controlplane

import (
	"context"
	"io"
)

// run starts a cluster and stops it when ctx is done, at the end of stdin (with
// --until-eof), or when a component exits. The last is an error. If KUBECONFIG
// is set, run starts no cluster and only waits.
func (l *Launcher) run(ctx context.Context, args []string) (err error) {
	flags, dir := newFlags("run", "")
	untilEOF := flags.Bool("until-eof", false, "")
	flags.StringVar(&l.auditLog, "audit-log", "", "")
	if err := parse(flags, args); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if *untilEOF {
		go func() {
			io.Copy(io.Discard, l.Stdin) // an error also means the end of stdin
			cancel()
		}()
	}
	if kubeconfig := foreign(*dir); kubeconfig != "" {
		return l.runForeign(ctx, kubeconfig)
	}
	return l.runOwn(ctx, *dir)
}

// runOwn starts a cluster in dir, and stops it when ctx is done or a component
// exits.
func (l *Launcher) runOwn(ctx context.Context, dir string) (err error) {
	c, err := l.start(ctx, dir)
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := c.stop(); err == nil {
			err = stopErr
		}
	}()
	if err := l.announce(c.folder.kubeconfig()); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-c.group.failed:
		return err
	}
}

// runForeign prints the path of kubeconfig and waits until ctx is done.
func (l *Launcher) runForeign(ctx context.Context, kubeconfig string) error {
	if err := l.adopt(ctx, kubeconfig); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
