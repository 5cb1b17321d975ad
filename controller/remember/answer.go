package remember

import (
	"hash/maphash"
	"strings"
	"time"

	"metascript/controller/compared"
	"metascript/controller/etags"
	"metascript/controller/hook"
)

// An Answer is a digest of the answer of a hook, by parts. Answers are compared with ==. The zero value is of no answer.
type Answer struct {
	cached                           etags.ID // of a webhook; the next three are zero then, since the same response was the same answer
	status, parent, children, events uint64
	again                            time.Duration
}

// AnswerOf returns the digest of a response.
func AnswerOf(r *hook.Response) Answer {
	a := Answer{cached: r.Cached, again: r.ResyncAfter}
	for _, e := range r.Events {
		a.events = mix(a.events, maphash.Comparable(seed, e))
	}
	if a.cached != 0 {
		return a
	}
	a.status, a.parent, a.children = digest(r.Status), mix(changes(r.Labels), changes(r.Annotations)), 1
	if r.Children != nil {
		for o := range r.Children.Added() {
			a.children = mix(a.children, digest(o.Map()))
		}
	}
	return a
}

// difference names the parts in which b differs from a; "" if they are equal.
func (a Answer) difference(b Answer) string {
	var parts []string
	for _, part := range []struct {
		name string
		a, b uint64
	}{{"status", a.status, b.status}, {"labels or annotations", a.parent, b.parent}, {"children", a.children, b.children}, {"events", a.events, b.events}, {"resyncAfterSeconds", uint64(a.again), uint64(b.again)}} {
		if part.a != part.b {
			parts = append(parts, part.name)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "its answer differs in " + strings.Join(parts, ", ")
}

// changes is a hash of changes to labels or annotations.
func changes(all hook.Changes) (sum uint64) {
	for key, value := range all {
		text := ""
		if value != nil {
			text = "=" + *value
		}
		sum += mix(maphash.String(seed, key), maphash.String(seed, text))
	}
	return sum
}

// digest is a hash of a JSON-shaped value. The order of keys does not count.
func digest(v any) uint64 {
	sum, _ := compared.Sum(v)
	return sum
}
