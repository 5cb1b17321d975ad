// Package redact removes the values of Secrets from texts for users: events, log records, errors, conditions and diffs.
//
// A [Redactor] belongs to one reconcile. The Secrets that the reconcile reads are added to it, and it is passed in the context:
// see [NewContext] and [FromContext]. Code that makes a text from data of a script, a webhook or the API server must redact it.
// [Redactor.Error] redacts an error and keeps its type, and [Redactor.Handler] redacts a log.
//
// # What is found
//
// Each part of four bytes or more of a value, where it stands in a text as it is, in base64 at any offset (also the
// alphabet for URLs), in hexadecimal, and in lower case. The text may be escaped twice: by backslashes as Go, JSON, YAML
// and JavaScript write them, by percent signs, as HTML; and white space may be another one. A value of less than four bytes
// is found where it stands in quotes. What was derived in another way, such as a hash or a number that was computed, is
// not found.
//
// Words that are common in our errors and in those of the API server are not redacted, and neither are the words that are passed to
// New, unless the text beside them is part of a value: they would be in the text whatever a Secret contains.
//
// # What it costs
//
// Nothing without Secrets. Otherwise all values are searched once for each text, or each batch of texts. There is no index, so
// that a Secret of 1 MiB costs some tens of milliseconds and no memory. A Redactor that has searched
// maxScanned bytes replaces each further text as a whole.
package redact

import (
	"iter"
	"slices"
	"strings"
	"sync"

	"metascript/controller/object"
)

const (
	// Mark replaces a value of a Secret.
	Mark = "[redacted]"
	// tooMuch replaces a whole text.
	tooMuch = "[redacted: the Secrets of this object are too large to search this text for their values]"
)

// maxScanned is how many bytes one Redactor searches at most, which takes about a second.
const maxScanned = 256 << 20

// shortest is the minimum length of a part of a value that is found. It is also the width of the window of the search.
const shortest = 4

// A Redactor has Secrets, and removes their values from texts. It is safe for concurrent use. A nil Redactor has no Secrets,
// and none can be added.
type Redactor struct {
	public    map[string]bool // words that stay, in lower case
	withholds bool            // see Withholding

	mu      sync.Mutex // guards the fields below; it is not locked together with that of another Redactor
	seen    map[*object.Object]bool
	secrets []*object.Object // those that were seen, in this order
	past    []*object.Object // see AddPast
	texts   []string         // secret texts that are not from a Secret
	scanned int
}

// New returns a Redactor without Secrets. It does not redact words, such as the name of the parent.
func New(words ...string) *Redactor {
	r := &Redactor{public: map[string]bool{}, seen: map[*object.Object]bool{}}
	for _, word := range words {
		for _, part := range tokens(word) {
			r.public[strings.ToLower(part)] = true
		}
		r.public[strings.ToLower(word)] = true
	}
	return r
}

// IsSecret reports whether o is a Secret.
func IsSecret(o *object.Object) bool { return isSecret(o.GroupVersionKind()) }

func isSecret(kind object.Kind) bool { return kind.Group == "" && kind.Kind == "Secret" }

// Add adds the Secrets among objects. It ignores nil and other objects.
func (r *Redactor) Add(objects ...*object.Object) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range objects {
		if o != nil && !r.seen[o] && IsSecret(o) {
			r.seen[o] = true
			r.secrets = append(r.secrets, o)
		}
	}
}

// AddSets adds the Secrets in sets. It ignores nil.
func (r *Redactor) AddSets(sets ...*object.Set) {
	for _, set := range sets {
		if set == nil {
			continue
		}
		for _, kind := range set.Kinds() {
			if isSecret(kind) {
				r.Add(set.Group(kind)...)
			}
		}
	}
}

// AddTexts adds texts that are as secret as values of Secrets, such as credentials.
func (r *Redactor) AddTexts(texts ...string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, text := range texts {
		if text != "" && !slices.Contains(r.texts, text) {
			r.texts = append(r.texts, text)
		}
	}
}

// Text returns text without the values of Secrets.
func (r *Redactor) Text(text string) string {
	return r.Texts([]string{text})[0]
}

// Texts returns texts without the values of Secrets. It takes about as long as for one text.
func (r *Redactor) Texts(texts []string) []string {
	if r.Empty() || !slices.ContainsFunc(texts, func(text string) bool { return text != "" }) {
		return texts // the values are not searched for nothing, and it does not count
	}
	values, enough := r.begin()
	if !enough {
		return withoutAll(texts)
	}
	marks := marksOf(texts, values)
	clean := make([]string, len(texts))
	for i, text := range texts {
		clean[i] = r.without(text, marks[i], func(string) string { return Mark })
	}
	return clean
}

// Empty reports whether there are no secret values.
func (r *Redactor) Empty() bool {
	if r == nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.secrets)+len(r.past)+len(r.texts) == 0
}

// Secrets returns the Secrets and the other secret texts that r has, also those of before.
func (r *Redactor) Secrets() (secrets []*object.Object, texts []string) {
	if r == nil {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Concat(r.secrets, r.past), slices.Clone(r.texts)
}

// begin returns the values for one search, and counts it. enough is false if the search would exceed maxScanned.
func (r *Redactor) begin() (values iter.Seq[value], enough bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	secrets, texts := slices.Clone(r.secrets), slices.Clone(r.texts)
	for _, o := range r.past {
		if !r.seen[o] {
			secrets = append(secrets, o)
		}
	}
	for _, o := range secrets {
		r.scanned += scans(sizeOf(o))
	}
	for _, text := range texts {
		r.scanned += scans(len(text))
	}
	return eachOf(secrets, texts), r.scanned <= maxScanned
}

// withoutAll returns the replacements for texts that are not searched.
func withoutAll(texts []string) []string {
	clean := make([]string, len(texts))
	for i, text := range texts {
		if strings.TrimSpace(text) != "" {
			clean[i] = tooMuch
		}
	}
	return clean
}

// without returns text with each marked run replaced.
func (r *Redactor) without(text string, marked []bool, replace func(string) string) string {
	var clean strings.Builder
	at := 0
	for from, to := range runs(text, marked) {
		if r.stays(text, from, to) {
			continue
		}
		clean.WriteString(text[at:from])
		clean.WriteString(replace(text[from:to]))
		at = to
	}
	if at == 0 {
		return text
	}
	clean.WriteString(text[at:])
	return clean.String()
}

// gap is the maximum length of the text between two runs that is replaced with them: a part that is too short to be found,
// or an unknown kind of escape.
const gap = shortest - 1

// runs returns the beginnings and ends of the marked runs in text, in whole characters.
func runs(text string, marked []bool) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for i := 0; i < len(marked); i++ {
			if !marked[i] {
				continue
			}
			from, to := i, i+1
			for next := to; next < len(marked) && next-to <= gap; next++ {
				if marked[next] {
					to = next + 1
				} else if isSpace(text[next]) {
					break
				}
			}
			i = to - 1
			if from, to = around(text, from, to); from < to && !yield(from, to) {
				return
			}
		}
	}
}

// around extends text[from:to] to whole characters, and removes the white space at its ends.
func around(text string, from, to int) (int, int) {
	for from > 0 && text[from]&0xC0 == 0x80 {
		from--
	}
	for to < len(text) && text[to]&0xC0 == 0x80 {
		to++
	}
	for from < to && isSpace(text[from]) {
		from++
	}
	for from < to && isSpace(text[to-1]) {
		to--
	}
	return from, to
}
