package plan

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"metascript/controller/builtin"
	"metascript/controller/object"
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
	spellings(nil, contentOf(stored), desired, func(s Spelling) {
		s.secret = want.GetKind() == "Secret"
		found = append(found, s)
	})
	return found
}

func spellings(path Path, have tree.Map, want map[string]any, add func(Spelling)) {
	for key, wanted := range tree.GoMap(want).All() {
		at := path.to(key)
		if notWritten(path, key) {
			continue
		}
		value, there := have.Get(key)
		switch {
		case there:
			spellingsIn(at, value, wanted, add)
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

func spellingsIn(path Path, have, want any, add func(Spelling)) {
	switch w := want.(type) {
	case map[string]any:
		if h, ok := tree.MapOf(have); ok {
			spellings(path, h, w, add)
			return
		}
	case []any:
		if h, ok := tree.ArrayOf(have); ok && h.Len() == len(w) && inOrder(h, w) {
			for i := range w {
				spellingsIn(path.to(i), h.Index(i), w[i], add)
			}
			return
		}
	default:
		if equalScalar(have, want) {
			return
		}
	}
	add(Spelling{Path: slices.Clone(path), Wanted: want, Stored: have, Same: sameMeaning(have, want) || builtin.IsUnset(path.name(), want)})
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
func sameMeaning(have, want any) bool {
	m := meaning{maxCompared}
	return m.same(have, want)
}

// A meaning compares two values as sameMeaning does. It looks for so many more items at other indexes of lists.
type meaning struct{ more int }

// maxCompared is how many items are looked for at other indexes of lists.
const maxCompared = 10_000

func (m *meaning) same(have, want any) bool {
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
	return want == "" || equalScalar(have, want) || sameText(fmt.Sprint(have), fmt.Sprint(want))
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
			if i > 0 {
				m.more--
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
	return v == "" || v == false || equalScalar(v, int64(0))
}

// sameText reports whether two texts are forms of one quantity, duration, time or address, or of the same bytes in base64.
func sameText(a, b string) bool {
	if quantity.MatchString(a) && quantity.MatchString(b) {
		x, err := resource.ParseQuantity(a)
		y, err2 := resource.ParseQuantity(b)
		x.RoundUp(resource.Milli) // as the API server stores CPU
		y.RoundUp(resource.Milli)
		if err == nil && err2 == nil && x.Cmp(y) == 0 {
			return true
		}
	}
	return sameParsed(a, b, time.ParseDuration) || sameParsed(a, b, parseTime) || sameParsed(a, b, netip.ParseAddr) ||
		sameParsed(a, b, netip.ParsePrefix) || sameParsed(a, b, parseBase64)
}

// quantity matches quantities of up to two digits in the exponent: a comparison takes time and memory for each zero of the number.
var quantity = regexp.MustCompile(`^[+-]?[0-9.]{1,30}([eE][+-]?[0-9]{1,2}|[numkKMGTPE]i?)?$`)

func sameParsed[T comparable](a, b string, parse func(string) (T, error)) bool {
	x, err := parse(a)
	if err != nil {
		return false
	}
	y, err := parse(b)
	return err == nil && x == y
}

func parseTime(text string) (int64, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	return t.UnixNano(), err
}

// parseBase64 ignores line breaks, as the API server does.
func parseBase64(text string) (string, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	return string(data), err
}
