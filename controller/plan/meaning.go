package plan

import (
	"fmt"
	"slices"
	"strings"

	"metascript/controller/builtin"
	"metascript/controller/object"
	"metascript/controller/scalar"
	"metascript/engine/tree"
)

// A Spelling is a field of a child that the API server did not store as the hook returned it.
type Spelling struct {
	Path           Path
	Wanted, Stored any  // Stored is nil if the field was not stored
	Same           bool // it has the same meaning, such as 1Gi for 1024Mi

	secret bool // of a Secret, so that the values are not shown
}

// Missing reports whether the field was not stored.
func (s Spelling) Missing() bool { return s.Stored == nil && !s.Same }

// Text returns a text such as "spec.cpu: 2000m is stored as 2". clean removes the values of Secrets from a text.
func (s Spelling) Text(clean func(string) string) string {
	wanted, stored := brief(s.Wanted, clean), brief(s.Stored, clean)
	switch {
	case s.secret && s.Stored == nil:
		return s.Path.String() + " is not stored"
	case s.secret:
		return s.Path.String() + " is stored with another value"
	case s.Stored == nil:
		return fmt.Sprintf("%s: %s is not stored", s.Path, wanted)
	}
	return fmt.Sprintf("%s: %s is stored as %s", s.Path, wanted, stored)
}

// maxBrief is the maximum length of a value in a text.
const maxBrief = 60

// brief returns a value as text. It is cut off last, since a secret is found only if it is whole.
func brief(v any, clean func(string) string) string {
	text, isText := v.(string)
	if json, err := tree.AppendJSON(nil, tree.Native(v)); err == nil && !isText {
		text = string(json)
	}
	if text = clean(text); text == "" {
		return `""`
	}
	if len(text) > maxBrief {
		return strings.ToValidUTF8(text[:maxBrief], "") + "…"
	}
	return text
}

// Spellings returns the fields of want, as a hook returned it, that stored has otherwise, in the order of keys. Fields that only stored
// has are defaults. Nulls, the status and what only the API server sets are not compared.
func Spellings(stored, want *object.Object) []Spelling {
	desired := WithoutNulls(want.Map())
	builtin.Normalize(desired)
	var found []Spelling
	spellings(nil, contentOf(stored), desired, newMeaning(), func(s Spelling) {
		s.secret = want.GetKind() == "Secret"
		found = append(found, s)
	})
	return found
}

func spellings(path Path, have tree.Map, want map[string]any, m *meaning, add func(Spelling)) {
	for key, wanted := range tree.GoMap(want).All() {
		at := path.to(key)
		if notWritten(path, key) {
			continue
		}
		value, there := have.Get(key)
		switch {
		case there:
			spellingsIn(at, value, wanted, m, add)
		case !hollow(wanted):
			add(Spelling{Path: slices.Clone(at), Wanted: wanted, Same: zero(wanted)})
		}
	}
}

// notWritten reports whether the field key of the map at path is the status, a field that only the API server sets, or an annotation that
// records what was applied.
func notWritten(path Path, key string) bool {
	return len(path) == 0 && key == "status" || path.is("metadata") && slices.Contains(system, key) ||
		path.is("metadata", "annotations") && slices.Contains(marks, key)
}

func spellingsIn(path Path, have, want any, m *meaning, add func(Spelling)) {
	switch w := want.(type) {
	case map[string]any:
		if h, ok := tree.MapOf(have); ok {
			spellings(path, h, w, m, add)
			return
		}
	case []any:
		if h, ok := tree.ArrayOf(have); ok && h.Len() == len(w) && inOrder(h, w) {
			for i := range w {
				spellingsIn(path.to(i), h.Index(i), w[i], m, add)
			}
			return
		}
	default:
		if scalar.Equal(have, want) {
			return
		}
	}
	add(Spelling{Path: slices.Clone(path), Wanted: want, Stored: have, Same: m.same(have, want) || builtin.IsUnset(path.name(), want)})
}

// inOrder reports whether items of the same index belong together: they have the same key, if they have one.
func inOrder(have tree.Array, want []any) bool {
	key := commonKey(have, tree.GoSlice(want))
	if key == "" {
		return true
	}
	for i := range want {
		if identify(readMap(have.Index(i)), key) != identity(mapOf(want[i])[key]) {
			return false
		}
	}
	return true
}

// sameMeaning reports whether have, as the API server stores a value, means the same as want, as a hook returned it. Maps may have more
// fields, lists more items, and an empty text may have a value, which are defaults. It does not know the types of fields, so texts that
// are not quantities, durations, times, addresses or base64 may count as such.
func sameMeaning(have, want any) bool { return newMeaning().same(have, want) }

// A meaning compares values as sameMeaning does. Items that are not at the same index of two lists are looked for at the others, which takes
// time in proportion to the square of their number. So only a number of values is compared for it, in all comparisons together; then items
// at other indexes count as different. The same objects have the same result each time.
type meaning struct {
	more      int // how many more values are compared at other indexes
	elsewhere int // how many of the lists around the current value are compared at another index
}

// maxCompared is how many values are compared at other indexes.
const maxCompared = 50_000

func newMeaning() *meaning { return &meaning{more: maxCompared} }

func (m *meaning) same(have, want any) bool {
	if m.elsewhere > 0 {
		if m.more--; m.more < 0 {
			return false
		}
	}
	switch want := want.(type) {
	case map[string]any:
		h, ok := tree.MapOf(have)
		return ok && m.holds(h, want) || have == nil && hollow(want)
	case []any:
		list, ok := tree.ArrayOf(have)
		return ok && m.has(list, want) || have == nil && len(want) == 0
	}
	if have == nil {
		return zero(want)
	}
	return want == "" || scalar.Equal(have, want) || scalar.SameText(fmt.Sprint(have), fmt.Sprint(want))
}

// holds reports whether have has all fields of want with the same meaning.
func (m *meaning) holds(have tree.Map, want map[string]any) bool {
	for key, value := range want {
		there, _ := have.Get(key)
		if value != nil && !m.same(there, value) {
			return false
		}
	}
	return true
}

// has reports whether have has an item for each item of want, in any order.
func (m *meaning) has(have tree.Array, want []any) bool {
	used := make([]bool, have.Len())
	find := func(item any, from int) bool {
		for i := range have.Len() {
			at := (from + i) % have.Len() // most often it is at the same index
			if i == 1 {
				m.elsewhere++
				defer func() { m.elsewhere-- }()
			}
			if m.more < 0 && i > 0 {
				return false
			}
			if !used[at] && m.same(have.Index(at), item) {
				used[at] = true
				return true
			}
		}
		return false
	}
	for i, item := range want {
		if have.Len() < len(want) || !find(item, i) {
			return false
		}
	}
	return true
}

// zero reports whether v is a value that the API server does not store in a field that has no pointer.
func zero(v any) bool {
	switch v := v.(type) {
	case map[string]any, []any:
		return hollow(v)
	case nil:
		return true
	}
	return v == "" || v == false || scalar.Equal(v, int64(0))
}
