package history

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"metascript/engine/tree"
)

// appendEntry appends an entry as JSON, as json.Marshal does it, which takes several times as long: a busy server keeps thousands of entries
// in a second. Candidate and Hidden are not in it, since they are added to what is kept.
func appendEntry(b []byte, e *Entry) []byte {
	b = appendTime(append(b, '{'), "time", e.Time)
	b = appendDuration(b, "took", e.Took.Duration)
	b = appendInt(b, "count", e.Count)
	if e.Last != nil {
		b = appendTime(b, "lastTime", *e.Last)
	}
	b = appendTexts(b, "reasons", e.Reasons, true)
	b = appendList(b, "causes", e.Causes, appendCause)
	b = appendInt(b, "moreCauses", e.Missed)
	b = tree.AppendText(appendKey(b, "source"), e.Source)
	b = appendText(b, "script", e.Script)
	b = appendList(b, "calls", e.Calls, appendCall)
	b = appendList(b, "writes", e.Writes, appendWrite)
	b = appendInt(b, "moreWrites", e.More)
	b = appendText(b, "error", e.Error)
	b = appendText(b, "detail", e.Detail)
	if e.Next != nil {
		b = append(appendNext(append(appendKey(b, "next"), '{'), e.Next), '}')
	}
	return append(b, '}')
}

func appendCause(b []byte, c *Cause) []byte {
	b = tree.AppendText(appendKey(b, "reason"), c.Reason)
	b = appendTime(b, "time", c.Time)
	b = appendObject(b, "object", &c.Object)
	b = appendShown(b, c.Shown)
	b = tree.AppendText(appendKey(b, "change"), c.Change)
	b = appendTexts(b, "fields", c.Fields, false)
	return appendBool(b, "moreFields", c.More)
}

func appendCall(b []byte, c *Call) []byte {
	b = tree.AppendText(appendKey(b, "hook"), c.Hook)
	b = appendText(b, "revision", c.Revision)
	b = appendDuration(b, "took", c.Took.Duration)
	b = appendTexts(b, "status", c.Status, false)
	if len(c.Children) > 0 {
		b = append(appendKey(b, "children"), '{')
		for _, kind := range slices.Sorted(maps.Keys(c.Children)) {
			b = strconv.AppendInt(appendKey(b, kind), int64(c.Children[kind]), 10)
		}
		b = append(b, '}')
	}
	b = appendInt(b, "relatedRules", c.Related)
	b = appendBool(b, "finalized", c.Finalized)
	if c.ResyncAfter != nil {
		b = appendDuration(b, "resyncAfter", c.ResyncAfter.Duration)
	}
	return appendBool(b, "failed", c.Failed)
}

func appendWrite(b []byte, w *Write) []byte {
	b = tree.AppendText(appendKey(b, "verb"), w.Verb)
	b = appendObject(b, "object", &w.Object)
	b = appendShown(b, w.Shown)
	b = appendText(b, "why", w.Why)
	b = appendList(b, "fields", w.Fields, appendField)
	b = appendBool(b, "moreFields", w.More)
	b = appendText(b, "error", w.Error)
	return appendTexts(b, "stored", w.Stored, false)
}

func appendField(b []byte, f *Field) []byte {
	b = tree.AppendText(appendKey(b, "path"), f.Path)
	b = appendText(b, "before", f.Before)
	return appendText(b, "after", f.After)
}

func appendNext(b []byte, n *Next) []byte {
	if n.ResyncAt != nil {
		b = appendTime(b, "resyncAt", *n.ResyncAt)
	}
	if n.RetryAt != nil {
		b = appendTime(b, "retryAt", *n.RetryAt)
	}
	b = appendBool(b, "held", n.Held)
	b = appendInt(b, "unseen", n.Unseen)
	return appendBool(b, "stale", n.Unstable)
}

func appendObject(b []byte, name string, o *Object) []byte {
	b = tree.AppendText(appendKey(append(appendKey(b, name), '{'), "apiVersion"), o.APIVersion)
	b = tree.AppendText(appendKey(b, "kind"), o.Kind)
	b = appendText(b, "namespace", o.Namespace)
	return append(tree.AppendText(appendKey(b, "name"), o.Name), '}')
}

func appendShown(b []byte, o *Object) []byte {
	if o == nil {
		return b
	}
	return appendObject(b, "shown", o)
}

// appendKey appends a key, with a comma unless it is the first one of its object.
func appendKey(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(tree.AppendText(b, name), ':')
}

// The functions below append a field, unless it has the zero value.

func appendText(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	return tree.AppendText(appendKey(b, name), text)
}

func appendInt(b []byte, name string, n int) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(appendKey(b, name), int64(n), 10)
}

func appendBool(b []byte, name string, is bool) []byte {
	if !is {
		return b
	}
	return append(appendKey(b, name), "true"...)
}

func appendList[T any](b []byte, name string, all []T, add func([]byte, *T) []byte) []byte {
	if len(all) == 0 {
		return b
	}
	b = append(appendKey(b, name), '[')
	for i := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(add(append(b, '{'), &all[i]), '}')
	}
	return append(b, ']')
}

// appendTexts appends a list of texts. If it is required, it is there even if it is empty.
func appendTexts(b []byte, name string, all []string, required bool) []byte {
	if len(all) == 0 && !required {
		return b
	}
	b = append(appendKey(b, name), '[')
	for i, text := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = tree.AppendText(b, text)
	}
	return append(b, ']')
}

// The functions below append a field always.

func appendTime(b []byte, name string, t time.Time) []byte {
	return append(t.AppendFormat(append(appendKey(b, name), '"'), time.RFC3339Nano), '"')
}

func appendDuration(b []byte, name string, d time.Duration) []byte {
	return append(append(append(appendKey(b, name), '"'), d.String()...), '"')
}
