package secretvalues

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
	account accounts app cluster clusters contexts io kubernetes password passwords pull replicas serviceaccount serviceaccounts
	system token tokens user username users
	give instead lost match method methods needs other random recreated restore return returned stands want wants
`)

func words(list string) map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(list) {
		all[word] = true
	}
	return all
}

// IsCommon reports whether a value of a Secret is a word that is common in objects and errors, such as true. It reveals nothing there.
func IsCommon(value string) bool {
	return len(value) <= longestCommon && common[strings.ToLower(value)]
}

const longestCommon = 16

// isLetter reports whether c is a letter or a digit, or part of a character that is not ASCII.
func isLetter(c byte) bool {
	return c >= 0x80 || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }
