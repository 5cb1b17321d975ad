package history

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/plan"
	"metascript/controller/redact"
	"metascript/engine/tree"
)

// withheld makes texts of values, and withholds values of Secrets.
type withheld struct{ redactor *redact.Redactor }

// status returns the fields of a status, with the values that are short.
func (w *withheld) status(status map[string]any) []string {
	if len(status) == 0 {
		return nil
	}
	var fields []string
	for field, value := range (tree.GoMap)(status).All() {
		switch value := value.(type) {
		case map[string]any:
			fields = append(fields, fmt.Sprintf("%s: {%d fields}", field, len(value)))
		case []any:
			fields = append(fields, fmt.Sprintf("%s: [%d items]", field, len(value)))
		default:
			if m, is := tree.MapOf(value); is {
				fields = append(fields, fmt.Sprintf("%s: {%d fields}", field, m.Len()))
			} else if a, is := tree.ArrayOf(value); is {
				fields = append(fields, fmt.Sprintf("%s: [%d items]", field, a.Len()))
			} else {
				fields = append(fields, field+": "+textOf(value))
			}
		}
	}
	slices.Sort(fields)
	return fields[:min(len(fields), maxStatus)]
}

// write returns a write with the fields that it changed.
func (w *withheld) write(write observe.Write) Write {
	short := Write{Verb: string(write.Verb), Object: ObjectOf(object.RefOf(write.Object)), Why: write.Why}
	if write.Err != nil {
		short.Error = write.Err.Error()
	}
	w.redactor.Add(write.Before, write.Stored, write.Object)
	short.Stored = w.stored(write)
	after := write.Stored
	if after == nil && write.Verb == plan.Update {
		after = write.Object // what could not be written
	}
	if write.Before == nil || after == nil || write.Verb == plan.Delete || write.Verb == plan.Create {
		return short
	}
	secret := redact.IsSecret(write.Object)
	for change := range plan.Changes(write.Before, after) {
		if len(short.Fields) == maxFields {
			short.More = true
			break
		}
		if secret {
			short.Fields = append(short.Fields, secretField(change))
		} else {
			short.Fields = append(short.Fields, Field{change.Path, textOf(change.Before), textOf(change.After)})
		}
	}
	return short
}

// stored returns which values of a child a write stored in another form than the hook returned them.
func (w *withheld) stored(write observe.Write) (texts []string) {
	if write.Stored == nil || write.Wanted == nil || !write.Verb.Stores() || write.Verb == plan.Delete {
		return nil
	}
	for _, s := range plan.Spellings(write.Stored, write.Wanted) {
		if len(texts) == maxStored {
			break
		}
		texts = append(texts, s.Text(w.redactor.Text))
	}
	return texts
}

// secretField returns a field of a Secret that changed: none of its values is shown.
func secretField(change plan.Change) Field {
	mark := func(value any) string {
		if value == nil {
			return ""
		}
		return redact.Mark
	}
	return Field{change.Path, mark(change.Before), mark(change.After)}
}

// redactFirst is how many bytes of a text are searched for values of Secrets, before it is cut off. It is much longer than what is shown, since
// what base64 stands for is found only as a whole.
const redactFirst = 16 << 10

// textOf returns a value as JSON, of which the end may be cut off; "" for nil.
func textOf(v any) string {
	if v == nil {
		return ""
	}
	if text, is := v.(string); is && len(text) > redactFirst {
		v = text[:redactFirst]
	}
	text, err := tree.AppendJSON(nil, v)
	if err != nil {
		return "?"
	}
	return string(text[:min(len(text), redactFirst)])
}

// A limited is a text that may be cut off, and how many bytes of it are kept.
type limited struct {
	text *string
	most int
}

// redact replaces the values of Secrets in e, and cuts off long texts.
func (w *withheld) redact(e *Entry) {
	texts := textsOf(e)
	if !w.redactor.Empty() {
		named := namedIn(e)
		plain := make([]string, len(texts), len(texts)+2*len(named))
		for i, l := range texts {
			plain[i] = *l.text
		}
		for _, n := range named {
			plain = append(plain, n.object.Namespace, n.object.Name)
		}
		plain = w.redactor.Texts(plain)
		for i, l := range texts {
			*l.text = plain[i]
		}
		for i, n := range named {
			n.show(plain[len(texts)+2*i], plain[len(texts)+2*i+1])
		}
	}
	for _, l := range texts {
		*l.text = cut(*l.text, l.most)
	}
}

// textsOf returns the texts of e that are made of the content of objects, without those that are empty.
func textsOf(e *Entry) []limited {
	texts := make([]limited, 0, 32)
	note := func(most int, all ...*string) {
		for _, text := range all {
			if *text != "" {
				texts = append(texts, limited{text, most})
			}
		}
	}
	note(maxError, &e.Error)
	note(maxDetail, &e.Detail)
	for i := range e.Causes {
		for j := range e.Causes[i].Fields {
			note(2*maxText, &e.Causes[i].Fields[j])
		}
	}
	for i := range e.Calls {
		for j := range e.Calls[i].Status {
			note(maxText, &e.Calls[i].Status[j])
		}
	}
	for i := range e.Writes {
		write := &e.Writes[i]
		note(maxError, &write.Error)
		note(2*maxText, &write.Why)
		for j := range write.Stored {
			note(2*maxText, &write.Stored[j])
		}
		for j := range write.Fields {
			note(2*maxText, &write.Fields[j].Path)
			note(maxText, &write.Fields[j].Before, &write.Fields[j].After)
		}
	}
	return texts
}

// A named is an object in an entry, and where it is noted how it is shown.
type named struct {
	object Object
	shown  **Object
}

// namedIn returns the objects of causes and writes.
func namedIn(e *Entry) []named {
	all := make([]named, 0, len(e.Causes)+len(e.Writes))
	for i := range e.Causes {
		all = append(all, named{e.Causes[i].Object, &e.Causes[i].Shown})
	}
	for i := range e.Writes {
		all = append(all, named{e.Writes[i].Object, &e.Writes[i].Shown})
	}
	return all
}

// show notes how the object is shown, if a value of a Secret was replaced in its namespace or its name.
func (n named) show(namespace, name string) {
	if shown := (Object{n.object.APIVersion, n.object.Kind, namespace, name}); shown != n.object {
		*n.shown = &shown
	}
}

// cut returns a text of at most n bytes.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	const end = "..."
	n -= len(end)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return strings.ToValidUTF8(text[:n], "") + end
}
