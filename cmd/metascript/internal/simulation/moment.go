package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"metascript/controller/object"
	"metascript/controller/observe"
)

const (
	mostInMoment = 300 // writes to one object; a server stops a single controller after 60 writes of a parent
	mostNamed    = 5   // objects in a message
)

// A moment counts the writes of the server in one second of the simulated time. While there is something to write, the time does not pass,
// or by milliseconds, and a step that waits for a later time does not end.
type moment struct {
	endless chan struct{} // is closed when the writes do not end

	mu     sync.Mutex                // guards the fields below
	at     time.Time                 // when the second began
	writes map[string]map[string]int // by the object and the controller
	err    error                     // is set before endless is closed
}

func newMoment() *moment { return &moment{endless: make(chan struct{})} }

// wrote notes a write, also one that failed.
func (m *moment) wrote(about observe.About, o *object.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now().Truncate(time.Second); !now.Equal(m.at) {
		m.at, m.writes = now, map[string]map[string]int{}
	}
	name := object.Describe(o)
	if m.writes[name] == nil {
		m.writes[name] = map[string]int{}
	}
	m.writes[name][about.Kind+" "+about.Controller]++
	if m.err == nil && total(m.writes[name]) > mostInMoment {
		m.err = fmt.Errorf("the writes at %s do not end, so that the simulated time hardly passes: %s; let only one controller write an object, and let it return the same each time", m.at.Format(time.TimeOnly), m.most())
		close(m.endless)
	}
}

// most names the objects that are written most often, and which controllers write them.
func (m *moment) most() string {
	names := slices.SortedFunc(maps.Keys(m.writes), func(a, b string) int {
		return cmp.Or(total(m.writes[b])-total(m.writes[a]), cmp.Compare(a, b))
	})
	var texts []string
	for _, name := range names[:min(len(names), mostNamed)] {
		if total(m.writes[name]) < mostInMoment/10 {
			break
		}
		var by []string
		for _, controller := range slices.Sorted(maps.Keys(m.writes[name])) {
			by = append(by, fmt.Sprintf("%d times by %s", m.writes[name][controller], controller))
		}
		texts = append(texts, fmt.Sprintf("%s was written %s", name, strings.Join(by, " and ")))
	}
	return strings.Join(texts, ", ")
}

func total(counts map[string]int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// sleep waits until d has passed. If the writes of a moment do not end, it returns an error.
func (m *moment) sleep(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-m.endless:
		return m.err
	}
}
