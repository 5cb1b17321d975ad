package recording

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"metascript/controller/object"
	"metascript/engine"
	"metascript/engine/packed"
)

// A File is a recording on disk. [Open] reads it once, which checks it and finds out how often each object is used. [File.Each] reads it
// again, and keeps each object in memory from its line to its last use. So the memory is that of the objects that are used again
// later, in their packed form, which is about as large as their JSON; and some 150 bytes for each version of an object.
type File struct {
	Path        string
	Header      Header
	End         *End // nil: the recording is cut off
	Controllers []*Controller
	Reconciles  int // how many were read
	Calls       int // in them
	Objects     int // versions of objects

	// Problems are what is wrong with the recording although it can be used: it is cut off, or a line was changed. At most
	// MaxProblems are kept.
	Problems    []error
	MoreProblem int // how many problems are not in Problems

	// Unread says that the rest of the recording was not read, because a line of it is not one of a recording.
	Unread bool

	maxMemory int64
	versions  int64            // the size of Controllers
	uses      map[digest]int32 // how often each object is used
	lines     int              // how many lines can be used
}

// MaxProblems is how many problems of a file are kept.
const MaxProblems = 20

// digest is the hash in a digest.
type digest [sha256.Size]byte

// parseDigest returns the hash in a text such as "sha256:...".
func parseDigest(text string) (d digest, ok bool) {
	hash, found := strings.CutPrefix(text, digestPrefix)
	if !found || len(hash) != hex.EncodedLen(len(d)) {
		return d, false
	}
	_, err := hex.Decode(d[:], []byte(hash))
	return d, err == nil
}

// DefaultMemory is the default of the limit in bytes for the objects that are in memory at the same time.
const DefaultMemory = 1 << 30

// maxVersions limits how many versions of controllers a recording has: each needs memory in every use of the file.
const maxVersions = 10_000

// Open reads a recording and checks it. The error says why it cannot be used at all. What can be used although something is wrong has
// Problems. maxMemory limits the size of the versions of controllers, and of the objects that Each has in memory at the same time; zero: DefaultMemory.
func Open(path string, maxMemory int64) (*File, error) {
	f := &File{Path: path, maxMemory: cmp.Or(maxMemory, DefaultMemory), uses: map[digest]int32{}}
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// problem adds a problem.
func (f *File) problem(err error) {
	if len(f.Problems) < MaxProblems {
		f.Problems = append(f.Problems, err)
	} else {
		f.MoreProblem++
	}
}

// place is where a line is, and about how much memory it needs.
type place struct {
	number int
	size   int64
}

// read calls use with each line, until the end or an error.
func (f *File) read(use func(line Line, at place) error) (Header, error) {
	in, err := os.Open(f.Path)
	if err != nil {
		return Header{}, withoutPath(err)
	}
	defer in.Close()
	r, err := NewReader(in)
	if err != nil {
		return Header{}, withoutPath(err)
	}
	for {
		line, err := r.Next()
		if err == nil {
			err = use(line, place{r.LineNumber(), r.Size()})
		}
		if err != nil {
			return r.Header(), err
		}
	}
}

// withoutPath returns the error of a file without its path.
func withoutPath(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// check is the first reading.
func (f *File) check() (err error) {
	known := map[string]bool{}
	f.Header, err = f.read(func(line Line, at place) error {
		number := at.number
		f.lines = number
		switch {
		case line.Header != nil:
			f.problem(&LineError{number, errors.New("it is a second header")})
		case line.Controller != nil:
			if known[line.Controller.ID] {
				f.problem(&LineError{number, fmt.Errorf("the version %q of a controller is there a second time", line.Controller.ID)})
				return nil
			}
			known[line.Controller.ID] = true
			return f.addController(line.Controller, at)
		case line.Object != nil:
			f.checkObject(line.Object, number)
		case line.Reconcile != nil:
			f.count(line.Reconcile)
			if !known[line.Reconcile.Controller] {
				f.problem(&LineError{number, fmt.Errorf("the version %q of the controller of this reconcile is not in the recording", line.Reconcile.Controller)})
			}
		case line.End != nil:
			f.End = line.End
		}
		return nil
	})
	var line *LineError
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case f.Header.Format == 0: // there is no header
	case errors.Is(err, ErrCutOff):
		f.problem(err)
		return nil
	case errors.As(err, &line):
		f.Unread = true
		f.problem(fmt.Errorf("%w; this line and what follows it were not read", err))
		return nil
	}
	return err
}

// addController keeps a version of a controller.
func (f *File) addController(c *Controller, at place) error {
	if f.versions += at.size; f.versions > f.maxMemory {
		return &TooLargeError{f.maxMemory}
	}
	if f.Controllers = append(f.Controllers, c); len(f.Controllers) > maxVersions {
		return &LineError{at.number, fmt.Errorf("it is one more version of a controller than the %d that a recording may have", maxVersions)}
	}
	return nil
}

// checkObject notes an object, if its digest is right.
func (f *File) checkObject(o *Object, number int) {
	d, ok := parseDigest(o.Digest)
	if !ok || DigestOf(o.Content) != o.Digest {
		f.problem(&LineError{number, fmt.Errorf("%s was changed after it was recorded: its content has another digest; calls that need it cannot be replayed", describe(o.Content))})
		return
	}
	if _, twice := f.uses[d]; !twice {
		f.uses[d] = 0
		f.Objects++
	}
}

// describe names the object with that content for messages.
func describe(content []byte) string {
	parsed, err := packed.Parse(content)
	if err != nil {
		return "an object"
	}
	return engine.Clip(object.Describe(object.OfPacked(parsed)), 200)
}

// count notes the objects that a reconcile uses.
func (f *File) count(r *Reconcile) {
	f.Reconciles++
	f.Calls += len(r.Calls)
	for _, d := range r.digests() {
		if d, ok := parseDigest(d); ok {
			if n, found := f.uses[d]; found {
				f.uses[d] = n + 1
			}
		}
	}
}

// digests returns the digests of all objects to which r refers, some of them several times.
func (r *Reconcile) digests() []string {
	var all []string
	for i := range r.Calls {
		all = append(all, r.Calls[i].digests()...)
	}
	for _, w := range r.Writes {
		for _, d := range []string{w.Before, w.After} {
			if d != "" {
				all = append(all, d)
			}
		}
	}
	return all
}

// digests returns the digests of all objects of the request and the answer.
func (c *Call) digests() []string {
	all := []string{c.Parent}
	for _, groups := range [][]Group{c.Children, c.Related} {
		for _, g := range groups {
			all = append(all, g.Objects...)
		}
	}
	if c.Answer != nil {
		all = append(all, c.Answer.Children...)
	}
	return all
}

// A Recorded is a reconcile with the objects to which it refers.
type Recorded struct {
	*Reconcile
	Line int   // its line in the file
	Size int64 // about how many bytes of memory it needs, with its objects

	objects map[string]Known
}

// A Known is an object of a recording.
type Known struct {
	*object.Object
	Redacted []string // the paths of what was replaced
}

// Object returns the object with that digest; false if it is not in the recording, or was changed. It can be called concurrently.
func (r *Recorded) Object(digest string) (Known, bool) {
	o, found := r.objects[digest]
	return o, found
}

// Missing returns the digests of objects that a call needs and that are not in the recording, or were changed. Then it cannot be
// replayed.
func (r *Recorded) Missing(c *Call) []string {
	var missing []string
	for _, d := range c.digests() {
		if _, found := r.objects[d]; !found {
			missing = append(missing, d)
		}
	}
	return missing
}

// A TooLargeError says that a recording needs more memory than allowed.
type TooLargeError struct{ Limit int64 }

// Error implements error.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the controllers, or the objects that are used again later, have more than %d MiB: allow more memory, or record less, such as one controller or a shorter time", e.Limit>>20)
}

// Each reads the file again and calls use with each reconcile, in their order, until it returns an error. What use gets may be kept, and
// used by other goroutines.
func (f *File) Each(use func(*Recorded) error) error {
	e := &eachOf{left: make(map[digest]int32, len(f.uses)), objects: map[digest]Known{}, max: f.maxMemory}
	for d, n := range f.uses {
		e.left[d] = n
	}
	_, err := f.read(func(line Line, at place) error {
		switch {
		case at.number > f.lines:
			return io.EOF // it is still being written
		case line.Object != nil:
			return e.add(line.Object)
		case line.Reconcile != nil:
			return use(e.resolve(line.Reconcile, at))
		}
		return nil
	})
	var line *LineError
	if errors.Is(err, io.EOF) || errors.Is(err, ErrCutOff) || errors.As(err, &line) {
		return nil // Problems has it
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	return nil
}

// eachOf is the second reading.
type eachOf struct {
	left    map[digest]int32 // how often each object is still used
	objects map[digest]Known // those that are used again
	size    int64            // of objects
	max     int64
}

// add keeps an object that is used.
func (e *eachOf) add(o *Object) error {
	d, ok := parseDigest(o.Digest)
	if !ok || e.left[d] == 0 || DigestOf(o.Content) != o.Digest {
		return nil
	}
	if _, twice := e.objects[d]; twice {
		return nil
	}
	content, err := packed.Parse(o.Content)
	if err != nil {
		return nil // then the calls that need it cannot be replayed
	}
	if e.size += int64(content.Size()); e.size > e.max {
		return &TooLargeError{e.max}
	}
	e.objects[d] = Known{object.OfPacked(content), o.Redacted}
	return nil
}

// resolve returns r with its objects, and drops those that are not used again.
func (e *eachOf) resolve(r *Reconcile, at place) *Recorded {
	found := &Recorded{Reconcile: r, Line: at.number, Size: at.size, objects: map[string]Known{}}
	for _, text := range r.digests() {
		d, _ := parseDigest(text)
		o, known := e.objects[d]
		if !known {
			continue
		}
		if _, twice := found.objects[text]; !twice {
			found.Size += int64(o.Packed().Size())
		}
		found.objects[text] = o
		if e.left[d]--; e.left[d] == 0 {
			delete(e.objects, d)
			e.size -= int64(o.Packed().Size())
		}
	}
	return found
}
