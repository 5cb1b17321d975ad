package secretvalues

import (
	"hash/maphash"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2/simplelru"

	"metascript/controller/object"
	"metascript/engine/packed"
)

func newKey() uint64 { return maphash.String(maphash.MakeSeed(), "") }

// Values are what one Secret contains, or one secret text, in a form in which texts are searched for it. They do not change.
type Values struct {
	parts parts
	whole Index[struct{}]
	tiny  map[string]bool // the values that are too short for an Index
	bytes int             // see Size
	grams int             // how many grams were put into parts
	age   atomic.Int64    // the generation of known that has them; zero: none, since they are not kept
}

// A boundary is a line of PEM that says what follows it. It reveals nothing, and its letters are in words of many errors: those
// of CERTIFICATE in verification and specific.
var boundary = regexp.MustCompile(`-----(?:BEGIN|END)(?: (?:ANY|CERTIFICATE|CRL|DH|DSA|EC|ENCRYPTED|KEY|NEW|OPENSSH|PARAMETERS|PRIVATE|PUBLIC|REQUEST|RSA|TRUSTED|X509))+-----`)

// withoutBoundaries returns the parts of a value between its boundaries: a value without one as a whole.
func withoutBoundaries(value string) []string {
	if !strings.Contains(value, "-----") { // most values; the expression is slower
		return []string{value}
	}
	return boundary.Split(value, -1)
}

// name matches a name before a value, in JSON or at the beginning of a line or of a word. Names have letters of one case, or begin with one.
var name = regexp.MustCompile(`"(?:[a-z]+(?:[A-Z][a-z]+)+|[a-z][a-z_.\-/]{2,31}|[A-Z][A-Z_.\-]{2,31})"[ \t]*:|(?:^|[\s;&,?])(?:[a-z]+(?:[A-Z][a-z]+)+|[a-z][a-z_.\-/]{2,31}|[A-Z][A-Z_.\-]{2,31})[ \t]*[=:]`)

// longestNamed is the maximum length of a value in which names are looked for.
const longestNamed = 64 << 10

// withoutNames returns a value with a line break in place of each name. Names are in many errors, and are not secret.
func withoutNames(value string) string {
	if len(value) > longestNamed || !strings.ContainsAny(value, "=:") {
		return value
	}
	return name.ReplaceAllString(value, "\n")
}

// newValues returns the Values of texts.
func newValues(texts []string) *Values {
	var folded []string
	v, size := &Values{tiny: map[string]bool{}}, 0
	note := func(text string) {
		text = strings.TrimSpace(Fold(text))
		folded = append(folded, text)
		size += len(text)
	}
	for _, text := range texts {
		if len(text) < shortest && strings.TrimSpace(text) != "" {
			v.tiny[text] = true
		}
		for _, part := range withoutBoundaries(text) {
			note(withoutNames(part))
			v.texts(part, note)
		}
	}
	v.parts, v.grams = newParts(size), size
	for _, text := range folded {
		grams(text, func(g gram, _ int) { v.parts.put(g.hash()) })
	}
	return v
}

// know puts v into known.
func (v *Values) know() {
	v.age.Store(known.putAll(v.grams+len(v.whole.lengths), func(put func(uint64)) {
		for _, entry := range v.parts.table {
			if entry != 0 {
				put(uint64(entry))
			}
		}
		for start := range v.whole.lengths {
			put(start.hash())
		}
	}))
}

// texts adds the texts of a value. It notes those that are written in another way in the value.
func (v *Values) texts(value string, note func(string)) {
	for text := range Texts(value) {
		if v.whole.Put(text.Text, struct{}{}) && text.Decoded {
			note(text.Text)
		}
	}
}

// cached has the Values of the Secrets of which somebody has looked for the values, by what identifies the version of the Secret. Those that
// were not used for the longest time are dropped when they are too many.
var cached = struct {
	mu   sync.Mutex // guards the fields below
	all  *lru.LRU[packed.Ref, *Values]
	size int
}{}

// maxCached is the size of the Values that are kept, in grams, of six to twelve bytes.
const maxCached = 8 << 20

// Of returns the Values of Secrets. Those of a version that is in a cache of objects are kept. enough is false if the values have more than
// most bytes: then there are none.
func Of(secrets []*object.Object, most int) (values []*Values, enough bool) {
	values, now := make([]*Values, len(secrets)), known.now()
	var old []*Values
	cached.mu.Lock()
	for i, o := range secrets {
		if p := o.Packed(); !p.IsZero() && cached.all != nil {
			values[i], _ = cached.all.Get(p.Ref())
		}
		v := values[i]
		if v == nil {
			continue
		}
		if most -= v.bytes; v.age.Load() != now {
			old = append(old, v)
		}
	}
	cached.mu.Unlock()
	for i, o := range secrets {
		if values[i] == nil {
			most -= Size(o)
		}
		if most < 0 {
			return nil, false
		}
	}
	for _, v := range old {
		v.know() // the generation that has it is dropped next, or is already
	}
	for i, o := range secrets {
		if values[i] == nil {
			values[i] = read(o)
		}
	}
	return values, true
}

// read returns the Values of a Secret, and keeps them if the Secret is in a cache.
func read(o *object.Object) *Values {
	v := newValues(valuesOf(o))
	v.bytes = Size(o)
	p := o.Packed()
	if p.IsZero() {
		return v
	}
	v.know()
	cached.mu.Lock()
	defer cached.mu.Unlock()
	if cached.all == nil {
		cached.all, _ = lru.NewLRU(maxCached/64, func(_ packed.Ref, v *Values) { cached.size -= v.size() }) // fails only for a size of zero
	}
	cached.all.Remove(p.Ref()) // the same of another goroutine
	cached.all.Add(p.Ref(), v)
	cached.size += v.size()
	for cached.size > maxCached && cached.all.Len() > 1 {
		cached.all.RemoveOldest()
	}
	return v
}

func valuesOf(o *object.Object) (texts []string) {
	for value := range Each(o) {
		texts = append(texts, value)
	}
	return texts
}

// OfTexts returns the Values of texts that are as secret as the values of a Secret.
func OfTexts(texts []string) *Values { return newValues(texts) }

// Size returns the size of the values of the Secret in bytes; zero for those of OfTexts.
func (v *Values) Size() int { return v.bytes }

// size returns about how many grams v has; a text counts as some.
func (v *Values) size() int { return 64 + len(v.parts.table)/2 + 16*v.whole.Len() }
