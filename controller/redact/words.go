package redact

import "strings"

// common are words of four or more letters that are common in errors of the API server and in ours. They reveal nothing
// about a value.
var common = words(`
	invalid value values forbidden required unsupported supported duplicate immutable field fields internal error errors
	admission webhook webhooks denied denies request requested could cannot find found resource resources kind kinds group
	version apiversion metadata name names namespace namespaces label labels selector annotation annotations spec status
	data type types string strings number integer boolean array list object objects null true false none must consist
	lower upper case alphanumeric character characters start starts with regex used validation long more most than bytes
	limit unknown default defaults create created update updated delete deleted deletion apply applied patch exists
	already conflict conflicts because from into this that have been when while since after before timeout deadline
	exceeded context connection refused server http https secret secrets configmap configmaps service services pods
	deployment deployments statefulset script hook sync finalize customize parent children child controller expected
	unexpected missing undefined property properties function call line column json yaml base64 example should valid
	subdomain domain letters digits inside only cluster local port ports image container containers template redacted star
	jsonnet inline panic certificate certificates authority verify signed failed begin adopted another backup belong differs
	give instead lost match method methods needs other random recreated restore return returned stands want wants
`)

func words(list string) map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(list) {
		all[word] = true
	}
	return all
}

// stays reports whether text[from:to] is not redacted although it is in a value: it is part of one common word, and the text
// beside that word is not part of a value.
func (r *Redactor) stays(text string, from, to int) bool {
	word := strings.ToLower(whole(text, from, to, isWord))
	return common[word] || r.public[word] || r.public[strings.ToLower(whole(text, from, to, isName))]
}

// whole returns text[from:to] extended to whole words, without the characters around them.
func whole(text string, from, to int, in func(byte) bool) string {
	for from > 0 && in(text[from-1]) && in(text[from]) {
		from--
	}
	for to < len(text) && in(text[to]) && in(text[to-1]) {
		to++
	}
	return strings.TrimFunc(text[from:to], func(r rune) bool { return r < 0x80 && !isWord(byte(r)) })
}

// tokens returns the words in text.
func tokens(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r < 0x80 && !isWord(byte(r)) })
}

func isWord(c byte) bool {
	return c >= 0x80 || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

func isName(c byte) bool { return isWord(c) || c == '-' || c == '.' || c == '_' }

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// Common reports whether a value of a Secret is a word that is common in objects and errors, such as true. It reveals nothing there.
func Common(value string) bool { return common[strings.ToLower(value)] }
