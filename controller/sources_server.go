package controller

import (
	"context"

	"metascript/controller/build"
	"metascript/controller/references"
	"metascript/controller/spec"
)

// followSources has a controller loaded again when one of its sources changes, and waits until they can be read.
func (s *Server) followSources(ctx context.Context, d *spec.Declaration, loader *build.Loader) error {
	var configMaps []references.Object
	files := false
	for _, wanted := range loader.Wanted(d) {
		configMaps = append(configMaps, build.ConfigMapsOf(&wanted)...)
		files = files || wanted.UsesFiles()
	}
	if !files {
		s.filed.Delete(d.ID())
	} else {
		s.filed.Store(d.ID(), true)
	}
	if err := s.references.Watch(d.ID(), func() { s.queue.Add(d.ID()) }, configMaps...); err != nil {
		return err
	}
	s.references.Settled(ctx, d.ID())
	return nil
}

// onFiles notes that something changed below the scripts directories.
func (s *Server) onFiles() {
	select {
	case s.edited <- struct{}{}:
	default: // it is noted already
	}
}

// lookAtFiles has the controllers loaded again whose scripts in files read otherwise than when they were loaded, until ctx is
// done. There may be many, and most edits concern few.
func (s *Server) lookAtFiles(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.edited:
			s.filed.Range(func(of, _ any) bool {
				if s.readsOtherwise(of.(spec.ID)) {
					s.queue.Add(of.(spec.ID))
				}
				return ctx.Err() == nil
			})
		}
	}
}

// readsOtherwise reports whether the scripts of a controller are not what they were, as far as that is known.
func (s *Server) readsOtherwise(of spec.ID) bool {
	before, known := s.sights.Load(of)
	o := s.object(of)
	if !known || o == nil {
		return true
	}
	d, err := spec.Read(o)
	if err != nil {
		return true
	}
	c := &build.Candidate{Declaration: d, Object: o}
	return c.Fingerprint(c.Read(s.loader(c))) != before
}

// leaveSources forgets the sources of a controller that is gone.
func (s *Server) leaveSources(of spec.ID) {
	s.filed.Delete(of)
	s.sights.Delete(of)
	s.references.Leave(of)
}
