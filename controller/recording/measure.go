package recording

import (
	"fmt"

	"metascript/engine"
)

// The limits of one line beside MaxLine. A line with 20,000 children has about 400,000 values and 60,000 objects. Without the limits, some
// hundred KiB of a compressed file could be as many values as fill the memory: an empty call is three bytes, and 200 in memory.
const (
	maxValues  = 1_000_000
	maxObjects = 200_000
	maxDepth   = 500
)

// Sizes in memory, about.
const (
	elementSize = 32
	structSize  = 400
)

// measure returns about how many bytes of memory a line needs when it is decoded, before it is. The error says that it is more than
// a line of a recording needs. What is not JSON has any size.
func measure(text []byte) (size int64, err error) {
	values, objects, depth, deepest := 0, 0, 0, 0
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			objects++
			values++
			depth++
			deepest = max(deepest, depth)
		case c == '[':
			values++
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		case c == ',':
			values++
		}
	}
	for _, limit := range []struct {
		what     string
		n, limit int
	}{{"values", values, maxValues}, {"objects", objects, maxObjects}, {"levels", deepest, maxDepth}} {
		if limit.n > limit.limit {
			return 0, fmt.Errorf("it has %d %s, and a line of a recording may have %d", limit.n, limit.what, limit.limit)
		}
	}
	return int64(len(text)) + elementSize*int64(values) + structSize*int64(objects), nil
}

// maxName is how many bytes a name may have, such as that of an object, a hook or a version of the program. They are in messages.
const maxName = 1000

// checkNames returns an error if a name in a line is too long.
func (l *Line) checkNames() error {
	for _, name := range l.names() {
		if len(name) > maxName {
			return fmt.Errorf("the name %q is longer than %d bytes", engine.Clip(name, 100), maxName)
		}
	}
	return nil
}

// names returns the names in a line, without those in the content of objects.
func (l *Line) names() []string {
	switch {
	case l.Header != nil:
		return []string{l.Header.Program}
	case l.Controller != nil:
		all := []string{l.Controller.ID}
		for key, script := range l.Controller.Scripts {
			all = append(all, key, script.Language, script.Entry)
		}
		return all
	case l.Reconcile != nil:
		r := l.Reconcile
		all := []string{r.Controller, r.UID, r.Parent.APIVersion, r.Parent.Kind, r.Parent.Namespace, r.Parent.Name}
		for i := range r.Calls {
			all = append(all, r.Calls[i].Hook, r.Calls[i].Revision)
		}
		return all
	case l.End != nil:
		return []string{l.End.Why}
	}
	return nil
}
