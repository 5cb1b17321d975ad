package controlplane

import (
	"context"
	"io"
)

// run keeps a cluster until ctx ends, stdin does (--until-eof) or a component
// ends by itself, which is an error. With a KUBECONFIG from outside it starts
// nothing and only waits.
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
			io.Copy(io.Discard, l.Stdin) // however it ends, it has ended
			cancel()
		}()
	}
	if kubeconfig := foreign(*dir); kubeconfig != "" {
		return l.runForeign(ctx, kubeconfig)
	}
	return l.runOwn(ctx, *dir)
}

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

func (l *Launcher) runForeign(ctx context.Context, kubeconfig string) error {
	if err := l.adopt(ctx, kubeconfig); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
