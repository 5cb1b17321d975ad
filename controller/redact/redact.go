// Package redact takes what Secrets hold out of texts for people: events, log lines, errors, conditions, diffs.
//
// A [Redactor] belongs to one reconcile. It is given the Secrets that the reconcile sees as it sees them, and travels in
// the context: see [NewContext] and [In]. Whoever makes a text of something that comes from a script, a webhook or the API
// server has it pass the Redactor. [Redactor.Error] does that for an error, and keeps what callers ask of it;
// [Redactor.Handler] for what is logged.
//
// # What is found
//
// Each part of four bytes or more of a value, where it stands in a text as it is, in base64 at any offset (also the
// alphabet for URLs), in hexadecimal, and in lower case. The text may be escaped twice: by backslashes as Go, JSON, YAML
// and JavaScript write them, by percent signs, as HTML; and white space may be another one. A value of less than four bytes
// is found where it stands in quotes. What was derived in another way, such as a hash or a number that was computed, is
// not found.
//
// Words of which our own errors and the API server's are made stay, and so do the words that New is given, as long as
// nothing beside them is of a value: they would be in the text whatever a Secret holds.
//
// # What it costs
//
// Nothing without Secrets. Else each text, or each batch of texts, goes through all values once: nothing is built ahead
// and nothing is kept, so that a Secret of 1 MiB costs some tens of milliseconds and no memory. A Redactor that has gone through as much
// as maxScanned gives a fixed text in place of any other.
package redact

import (
	"iter"
	"slices"
	"strings"
	"sync"

	"metascript/controller/object"
)

const (
	// Mark stands in place of what is in a Secret.
	Mark = "[redacted]"
	// tooMuch stands in place of a whole text.
	tooMuch = "[redacted: the Secrets at hand are too large to look for what they hold in this text]"
)

// maxScanned is how many bytes one Redactor goes through at most, which takes about a second.
const maxScanned = 256 << 20

// shortest is how long a part of a value is at least that is looked for. The window of the search is as wide.
const shortest = 4

// A Redactor knows Secrets. It is safe for concurrent use. A nil one knows none, and cannot be given any.
type Redactor struct {
	public    map[string]bool // words that stay, in lower case
	withholds bool            // see Withholding

	mu      sync.Mutex
	seen    map[*object.Object]bool
	secrets []*object.Object // those that were seen, in this order
	past    []*object.Object // see After
	texts   []string         // that are no Secret's, but as secret
	scanned int
}

// New gives a Redactor that knows no Secret yet. The words stay readable, such as the names of what all is about.
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

// Add adds the Secrets among objects, of which some may be nil.
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

// AddSets adds the Secrets in sets, of which some may be nil.
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

// AddTexts adds what is as secret as what Secrets hold.
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

// Text is text without what is in Secrets.
func (r *Redactor) Text(text string) string {
	return r.Texts([]string{text})[0]
}

// Texts are the texts without what is in Secrets. It takes as long as one of them.
func (r *Redactor) Texts(texts []string) []string {
	if r.Empty() {
		return texts
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

// Empty reports whether there is nothing to look for.
func (r *Redactor) Empty() bool {
	if r == nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.secrets)+len(r.past)+len(r.texts) == 0
}

// begin counts one more search, and gives what it is for; it reports whether it may be made.
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

// withoutAll is what is given of texts that are not looked through.
func withoutAll(texts []string) []string {
	clean := make([]string, len(texts))
	for i, text := range texts {
		if strings.TrimSpace(text) != "" {
			clean[i] = tooMuch
		}
	}
	return clean
}

// without gives text with each run of what is marked replaced.
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

// gap is how long what is between two runs is at most to be replaced with them: a part too short to be found by itself,
// or an escape of a kind that is not known here.
const gap = shortest - 1

// runs are the beginnings and ends of what is marked in text, in whole characters.
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

// around is text[from:to] in whole characters, without the white space at its ends.
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
