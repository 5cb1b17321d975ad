package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"metascript/controller"
	"metascript/controller/object"
)

// A desk is where an author works: what is edited goes to the server, and what comes of it is told.
type desk struct {
	files  *authored
	tell   *teller
	given  *controller.Given
	survey *survey

	using []string // the controllers
}

// work runs the server until ctx is done or it fails.
func (d *desk) work(ctx context.Context, server *controller.Server, first draft, docs []document) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	d.use(ctx, docs)
	d.greet()
	var beside sync.WaitGroup
	beside.Go(func() { d.files.follow(ctx, first, func(now draft) { d.reread(ctx, now) }) })
	beside.Go(func() { d.await(ctx, server) })
	err := server.Run(ctx)
	stop()
	beside.Wait()
	d.tell.farewell()
	return err
}

func (d *desk) greet() {
	d.tell.say(fmt.Sprintf("%s in the cluster at %s", strings.Join(d.using, ", "), d.survey.host))
	if d.tell.dryRun {
		d.tell.say("dry run: nothing is written to the cluster; what follows is what would be")
	}
}

// soon is how long a server may take to be ready before it is told what it waits for.
const soon = 5 * time.Second

// await tells what the server waits for, if it takes long, until it is ready.
func (d *desk) await(ctx context.Context, server *controller.Server) {
	tick := time.NewTicker(soon)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		waiting := server.Waiting()
		if len(waiting) == 0 {
			return
		}
		d.tell.sayOnce("waiting", "waiting: "+strings.Join(waiting, "; ")+" (--verbosity=1 tells more)")
	}
}

// reread uses what the files hold now, if it can be read.
func (d *desk) reread(ctx context.Context, now draft) {
	docs, err := now.documents()
	if err != nil {
		d.tell.sayOnce("files", d.tell.paint.failure(err.Error()), "what was read before goes on")
		return
	}
	d.tell.sayOnce("files", "")
	d.use(ctx, docs)
}

// use gives the controllers to the server, after what there is to say of them.
func (d *desk) use(ctx context.Context, docs []document) {
	var objects []*object.Object
	var names []string
	for _, doc := range controllers(docs) {
		objects, names = append(objects, doc.Object), append(names, object.Describe(doc.Object))
		d.tell.sayOnce(object.Describe(doc.Object)+" refused", d.tell.paint.warning(strings.Join(refusals(doc), "\n")))
	}
	for _, name := range d.using {
		if !slices.Contains(names, name) {
			d.tell.say(d.tell.paint.strong(name) + " is in no file any more, and is stopped")
		}
	}
	d.using = names
	d.tell.expect(len(names))
	for _, warning := range slices.Concat(d.survey.missing(ctx, docs), d.survey.rivals(ctx, docs, d.tell.dryRun)) {
		d.tell.sayOnce(warning, d.tell.paint.warning(warning))
	}
	d.given.Set(objects)
}

// refusals are what the API server would say against a controller.
func refusals(doc document) []string {
	c, err := newChecker(nil)
	if err != nil {
		return []string{err.Error()}
	}
	return c.refusals(doc)
}
