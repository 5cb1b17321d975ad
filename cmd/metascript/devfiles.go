package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"metascript/controller/object"
)

// authored are the files with controllers that an author edits.
type authored struct {
	paths []string // files or folders
	stdin []byte   // what "-" stands for
}

// newAuthored reads standard input, once, if it is among the files.
func newAuthored(paths []string, stdin io.Reader) (*authored, error) {
	a := &authored{paths: paths}
	var err error
	if slices.Contains(paths, "-") {
		a.stdin, err = io.ReadAll(stdin)
	}
	return a, err
}

// A draft is what the files hold at one moment.
type draft []page

// A page is a file, or why it cannot be read.
type page struct{ path, text, failed string }

func (a *authored) draft() draft {
	paths, err := expand(a.paths)
	if err != nil {
		return draft{{failed: err.Error()}}
	}
	var d draft
	for _, path := range paths {
		text, err := a.stdin, error(nil)
		if path != "-" {
			text, err = os.ReadFile(path)
		}
		p := page{path: path, text: string(text)}
		if err != nil {
			p.failed = err.Error()
		}
		d = append(d, p)
	}
	return d
}

// documents are the objects in a draft, with at least one controller among them. A file without content is an error: most
// likely it is just being written.
func (d draft) documents() ([]document, error) {
	var all []document
	for _, p := range d {
		if p.failed != "" {
			return nil, fmt.Errorf("%s", p.failed)
		}
		if len(bytes.TrimSpace([]byte(p.text))) == 0 {
			return nil, fmt.Errorf("%s is empty", p.path)
		}
		found, err := parse(p.path, []byte(p.text))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, d.check(controllers(all))
}

// check refuses a draft without a controller, or with one twice.
func (d draft) check(found []document) error {
	if len(found) == 0 {
		var paths []string
		for _, p := range d {
			paths = append(paths, p.path)
		}
		return fmt.Errorf("no CompositeController and no DecoratorController in %s", strings.Join(paths, ", "))
	}
	first := map[string]string{}
	for _, doc := range found {
		name := object.Describe(doc.Object)
		if file, twice := first[name]; twice {
			return fmt.Errorf("%s: %s is in %s too", doc.file, name, file)
		}
		first[name] = doc.file
	}
	return nil
}

// glance is how often the files are looked at. They are few and small, and there is no way to save one, over whatever file
// system, that is not noticed so.
const glance = 100 * time.Millisecond

// follow calls changed with what the files hold whenever that has changed since, and stands still, until ctx is done.
func (a *authored) follow(ctx context.Context, since draft, changed func(draft)) {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	before := since
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := a.draft()
		if still := slices.Equal(now, before); still && !slices.Equal(now, since) {
			since = now
			changed(now)
		}
		before = now
	}
}
