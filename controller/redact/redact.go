// Package redact removes the values of Secrets from texts for users: events, log records, errors, conditions and diffs.
//
// A [Redactor] belongs to one reconcile. The Secrets that the reconcile reads are added to it, and it is passed in the context:
// see [NewContext] and [FromContext]. Code that makes a text from data of a script, a webhook or the API server must redact it.
// [Redactor.Error] redacts an error and keeps its type, and [Redactor.Handler] redacts a log.
//
// # What is found
//
// See [secretvalues.Search]: each part of eight bytes or more of a value, and whole values, in each way in which the text can be read. What was
// derived in another way, such as a hash or a number that was computed, is not found. The whole word is replaced, and in quotes all between
// them, so that what is replaced does not show how much of it was found.
//
// # What is public
//
// A text may have parts that a user of the parent has written, and that happen to be in a value. If these were replaced, the user would
// learn that they are: with enough guesses, all of the value. So what is in a public text is not replaced: the parent, and whatever else is
// added with [Redactor.AddPublic]. It does not matter how a script has changed it: see [public]. Words that are common in our errors
// and in those of the API server are not replaced either.
//
// # What an observer can learn
//
// Of a text that was made from public texts in one of the ways of [public], nothing: none of it is replaced, whatever the Secret is. If a text was
// made from a public text in another way, such as in reverse, or together with three or more characters of a constant that a value
// has too, an observer learns from each word whether it has eight bytes that are in a value, or a whole value: one bit for each word.
//
// Of a text that shows a value, an observer who can write public texts learns whether the value is in these, but for two characters at each
// end: it is shown then. So a value that is one of n, such as a number of four digits, is found with n guesses, which can be in one public
// text. Such values must not be in texts.
//
// # What it costs
//
// Nothing without Secrets. What is searched of a version of a Secret is made when the first text is searched for it, and kept with about ten times
// the size of its values, for the Secrets that were used last. Then a failed sync costs about 0.1 ms, and 1 ms beside 5,000 Secrets: see
// BenchmarkFailure. If the Secrets of one reconcile are larger than maxSize, each text is replaced as a whole.
package redact

import (
	"slices"
	"strings"
	"sync"

	"metascript/controller/object"
	"metascript/controller/secretvalues"
)

const (
	// Mark replaces a value of a Secret.
	Mark = "[redacted]"
	// tooMuch replaces a whole text.
	tooMuch = "[redacted: the Secrets of this object are too large to search this text for their values]"
)

// maxSize is the size of the values of Secrets, in bytes, up to which texts are searched.
const maxSize = 8 << 20

// A Redactor has Secrets, and removes their values from texts. It is safe for concurrent use. A nil Redactor has no Secrets,
// and none can be added.
type Redactor struct {
	public    public
	withholds bool // see Withholding

	mu      sync.Mutex              // guards the fields below; it is not locked together with that of another Redactor
	secrets []*object.Object        // in the order in which they were added
	seen    map[*object.Object]bool // the same; nil if they were added at once
	past    []*object.Object        // see AddPast
	texts   []string                // secret texts that are not from a Secret
	read    []*secretvalues.Values  // of the first readOf.secrets and readOf.past of these
	readOf  struct{ secrets, past int }
	left    int       // how many bytes of values may still be read; below zero: they are too large
	runs    []textRun // of texts
}

// New returns a Redactor without Secrets. It does not redact public words, such as the name of the parent.
func New(words ...string) *Redactor {
	r := &Redactor{left: maxSize}
	r.public.addTexts(words)
	return r
}

// IsSecret reports whether o is a Secret.
func IsSecret(o *object.Object) bool { return secretvalues.Is(o) }

// Add adds the Secrets among objects. It ignores nil and other objects.
func (r *Redactor) Add(objects ...*object.Object) {
	if r == nil {
		return
	}
	var secrets []*object.Object
	for _, o := range objects {
		if o != nil && IsSecret(o) {
			secrets = append(secrets, o)
		}
	}
	r.add(secrets)
}

// AddSets adds the Secrets in sets. It ignores nil.
func (r *Redactor) AddSets(sets ...*object.Set) {
	if r == nil {
		return
	}
	for _, set := range sets {
		if set == nil {
			continue
		}
		for _, kind := range set.Kinds() {
			if secretvalues.IsKind(kind) {
				r.add(set.Group(kind))
			}
		}
	}
}

// add adds those of secrets that r does not have. Mostly the related Secrets are all that there are: then nothing is compared.
func (r *Redactor) add(secrets []*object.Object) {
	if len(secrets) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.secrets) == 0 {
		r.secrets = slices.Clone(secrets)
		return
	}
	if slices.Equal(secrets, r.secrets) {
		return
	}
	if r.seen == nil {
		r.seen = make(map[*object.Object]bool, len(r.secrets))
		for _, o := range r.secrets {
			r.seen[o] = true
		}
	}
	for _, o := range secrets {
		if !r.seen[o] {
			r.seen[o] = true
			r.secrets = append(r.secrets, o)
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

// AddPublic adds objects that the users of the parent can write or see, such as the parent: what is in them is not redacted. Of a Secret, only
// its metadata is public. It ignores nil.
func (r *Redactor) AddPublic(objects ...*object.Object) {
	if r != nil {
		addTo(&r.public, &r.public.objects, objects)
	}
}

// AddPublicTexts adds texts that somebody else than a hook has written, such as the names of field managers.
func (r *Redactor) AddPublicTexts(texts ...string) {
	if r != nil {
		r.public.addTexts(texts)
	}
}

// SetOrigin says how to find out who has written objects.
func (r *Redactor) SetOrigin(o Origin) {
	if r != nil {
		r.public.setOrigin(o)
	}
}

// AddChildren adds children of the parent: the Secrets among them, and what others than a controller have written into them as public.
func (r *Redactor) AddChildren(children ...*object.Object) {
	if r == nil {
		return
	}
	r.Add(children...)
	addTo(&r.public, &r.public.owned, children)
}

// AddRequest adds what a hook gets: the Secrets in it, and as public the parent, related objects, and what others than the hook have written
// into children. The sets may be nil.
func (r *Redactor) AddRequest(parent *object.Object, children, related *object.Set) {
	if r == nil {
		return
	}
	r.Add(parent)
	r.AddSets(children, related)
	r.AddPublic(parent)
	addTo(&r.public, &r.public.children, []*object.Set{children})
	addTo(&r.public, &r.public.sets, []*object.Set{related})
}

// Kept returns a Redactor with the Secrets and texts of r, and without what is public, which may be large.
func (r *Redactor) Kept() *Redactor {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &Redactor{secrets: slices.Clip(r.secrets), past: r.past, texts: slices.Clip(r.texts), left: maxSize}
}

// Text returns text without the values of Secrets.
func (r *Redactor) Text(text string) string {
	return r.Texts([]string{text})[0]
}

// Texts returns texts without the values of Secrets.
func (r *Redactor) Texts(texts []string) []string {
	if r.Empty() || !slices.ContainsFunc(texts, func(text string) bool { return text != "" }) {
		return texts
	}
	secret, enough := r.search(texts)
	clean := make([]string, len(texts))
	for i, text := range texts {
		if clean[i] = withoutAll(text); enough {
			clean[i] = without(text, secret[i], func(string) string { return Mark })
		}
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

// values returns what is searched for. enough is false if it is larger than maxSize. Secrets are added while a reconcile writes them, so only
// those that are new are read.
func (r *Redactor) values() (values []*secretvalues.Values, enough bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	done := &r.readOf
	r.readAll(r.secrets[done.secrets:])
	if done.past < len(r.past) {
		r.readAll(r.changed(r.past[done.past:]))
	}
	done.secrets, done.past = len(r.secrets), len(r.past)
	r.readTexts()
	values = slices.Clone(r.read)
	for _, run := range r.runs {
		values = append(values, run.values)
	}
	return values, r.left >= 0
}

func (r *Redactor) readAll(secrets []*object.Object) {
	if len(secrets) == 0 || r.left < 0 {
		return
	}
	read, enough := secretvalues.Of(secrets, r.left)
	if r.read = append(r.read, read...); !enough {
		r.left = -1
	}
	for _, v := range read {
		r.left -= v.Size()
	}
}

// changed returns those of past that are not among the Secrets of now. Mostly all are.
func (r *Redactor) changed(past []*object.Object) []*object.Object {
	if slices.Equal(past, r.secrets) {
		return nil
	}
	now := make(map[*object.Object]bool, len(r.secrets))
	for _, o := range r.secrets {
		now[o] = true
	}
	return slices.DeleteFunc(slices.Clone(past), func(o *object.Object) bool { return now[o] })
}

// A textRun has the Values of texts that were added one after the other. A script may add thousands, one at a time, so two runs become one when the
// second one is as long as the first: then there are few, and each text is read few times.
type textRun struct {
	n      int // texts
	values *secretvalues.Values
}

func (r *Redactor) readTexts() {
	done := 0
	for _, run := range r.runs {
		done += run.n
	}
	n := len(r.texts) - done
	if n == 0 {
		return
	}
	for last := len(r.runs) - 1; last >= 0 && r.runs[last].n <= n; last-- {
		n += r.runs[last].n
		r.runs = r.runs[:last]
	}
	r.runs = append(r.runs, textRun{n, secretvalues.OfTexts(r.texts[len(r.texts)-n:])})
}

// withoutAll returns what replaces a text that is not searched.
func withoutAll(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return tooMuch
}

// search returns the words of each text that have a part of a value. enough is false if it cannot be searched.
func (r *Redactor) search(texts []string) (secret [][]span, enough bool) {
	values, enough := r.values()
	if !enough {
		return nil, false
	}
	secret = make([][]span, len(texts))
	for i, all := range secretvalues.Search(texts, values) {
		var found []span
		for _, f := range all {
			if at := (span{f.From, f.To}); !isCommon(texts[i], at) && !r.public.has(f.Plain) {
				found = append(found, at)
			}
		}
		secret[i] = wordsAt(texts[i], merged(found))
	}
	return secret, true
}

// without returns text with each secret word replaced.
func without(text string, secret []span, replace func(string) string) string {
	if len(secret) == 0 {
		return text
	}
	var clean strings.Builder
	at := 0
	for _, s := range secret {
		clean.WriteString(text[at:s.from])
		clean.WriteString(replace(text[s.from:s.to]))
		at = s.to
	}
	clean.WriteString(text[at:])
	return clean.String()
}
