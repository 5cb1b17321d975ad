package secretvalues

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"iter"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	shortest = 4 // bytes of a text that is found on its own
	bounded  = 6 // a text that is shorter, in bytes, is found only as a whole word
)

// maxTexts is how many texts of one value are returned.
const maxTexts = 10_000

// A Text is a text in a value that is secret on its own.
type Text struct {
	Text    string
	Strong  bool // it looks like a password: see IsStrong
	Decoded bool // it may be written in another way in the value
}

// Texts returns the texts in a value of a Secret that are secret on their own: the value itself, also without the white space around it, and
//
//   - what follows the name of a secret, such as password, in the formats name=value, name: value and name value, on a line and within one, in
//     quotes and without: env and ini files, properties, YAML, connection strings of libpq and others, .netrc, credentials of AWS;
//   - the password and the parameters of each URL, with and without the escapes of URLs;
//   - the texts in JSON, and in base64, such as auth in the credentials of a registry;
//   - the last part of a line with colons, as in user:password and .pgpass;
//   - each other word that looks like a password, such as a line of a certificate.
//
// Texts that are common words or have less than four bytes are left out. A text may be returned more than once.
func Texts(value string) iter.Seq[Text] {
	return func(yield func(Text) bool) {
		p := &parser{yield: yield, left: maxTexts, work: 16*len(value) + 16<<10}
		p.text(value, true)
		p.text(strings.TrimSpace(value), true)
		p.inside(value, 0)
	}
}

// IsStrong reports whether a text looks like a password: it has 8 bytes or more, with two of lower case, upper case, digits and other
// characters than those of names; or 20 bytes or more.
func IsStrong(text string) bool {
	const few, many = 8, 20
	var lower, upper, digit, other int
	for _, c := range []byte(text) {
		switch {
		case 'a' <= c && c <= 'z':
			lower = 1
		case 'A' <= c && c <= 'Z':
			upper = 1
		case '0' <= c && c <= '9':
			digit = 1
		case strings.IndexByte("-_./: ", c) < 0:
			other = 1
		}
	}
	return len(text) >= many || len(text) >= few && lower+upper+digit+other >= 2
}

// A parser looks for the texts in one value.
type parser struct {
	yield   func(Text) bool
	left    int
	work    int // how many bytes may still be looked at
	decoded int // how many times what is looked at was decoded
}

// in calls look for what was decoded.
func (p *parser) in(look func()) {
	p.decoded++
	look()
	p.decoded--
}

// text yields a text. named: it is known to be secret; otherwise only if it looks like a password.
func (p *parser) text(text string, named bool) {
	if p.left <= 0 || len(text) < shortest {
		return
	}
	strong := IsStrong(text)
	if !named && !strong || IsCommon(text) {
		return
	}
	if p.left--; !p.yield(Text{text, strong, p.decoded > 0}) {
		p.left = 0
	}
}

// maxDepth is how many formats are within each other.
const maxDepth = 3

// inside yields the texts in a value.
func (p *parser) inside(value string, depth int) {
	if depth >= maxDepth || p.left <= 0 {
		return
	}
	p.json(value, depth)
	for line := range strings.Lines(value) {
		p.line(strings.TrimSpace(line))
	}
	for word := range strings.FieldsFuncSeq(value, func(c rune) bool { return c < utf8.RuneSelf && !inWord(byte(c)) }) {
		p.word(word, depth)
	}
}

// inWord reports whether c is in a word of a value: letters, digits, and the other characters of base64.
func inWord(c byte) bool { return isLetter(c) || strings.IndexByte("+/=_-", c) >= 0 }

// word yields a word, and what it is base64 of.
func (p *parser) word(word string, depth int) {
	p.text(word, false)
	if trimmed := strings.TrimRight(word, "="); trimmed != word {
		p.text(trimmed, false)
	}
	for part := range strings.FieldsFuncSeq(word, func(c rune) bool { return c == '=' || c == '/' }) {
		p.text(part, false)
	}
	if plain, ok := textOf(word); ok {
		p.in(func() {
			p.text(plain, false)
			p.credentials(plain)
			p.inside(plain, depth+1)
		})
	}
}

// textOf returns the text that a word is base64 of.
func textOf(word string) (string, bool) {
	if len(word) < 2*shortest {
		return "", false
	}
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(word, "-_") {
		encoding = base64.RawURLEncoding
	}
	plain, err := encoding.DecodeString(strings.TrimRight(word, "="))
	if err != nil || !utf8.Valid(plain) {
		return "", false
	}
	for _, c := range string(plain) {
		if !unicode.IsPrint(c) && !unicode.IsSpace(c) {
			return "", false
		}
	}
	return string(plain), true
}

// json yields the texts in a value that is a map or a list in JSON. The beginning of one that is not complete is read too.
func (p *parser) json(value string, depth int) {
	if begin := strings.TrimLeft(value, " \t\r\n"); begin == "" || begin[0] != '{' && begin[0] != '[' {
		return
	}
	tokens := json.NewDecoder(strings.NewReader(value))
	tokens.UseNumber()
	named := false
	for p.left > 0 {
		token, err := tokens.Token()
		if err != nil {
			return
		}
		switch t := token.(type) {
		case string:
			p.in(func() {
				p.text(t, named)
				p.credentials(t)
				p.inside(t, depth+1)
			})
			named = isSecretName(t)
		case json.Number:
			p.text(t.String(), named)
			named = false
		default:
			named = false
		}
	}
}

// secretNames are in the names of what is secret, in lower case.
var secretNames = []string{"pass", "pwd", "pw", "secret", "token", "key", "auth", "cred", "pin", "salt", "signature", "sas"}

const longestName = 64

// isSecretName reports whether what has a name is secret.
func isSecretName(name string) bool {
	if len(name) < 2 || len(name) > longestName {
		return false
	}
	var lower [longestName]byte
	for i := range len(name) {
		lower[i] = fold(name[i])
	}
	for _, part := range secretNames {
		if bytes.Contains(lower[:len(name)], []byte(part)) {
			return true
		}
	}
	return false
}

// longestLine is the maximum length of a line in which names are looked for.
const longestLine = 4 << 10

// line yields the texts in a line.
func (p *parser) line(line string) {
	if len(line) > longestLine {
		p.text(line, false)
		return
	}
	if at := name.FindStringIndex(line); at == nil || at[0] > 0 {
		p.text(line, false) // it does not begin with a name
	}
	p.urls(line)
	p.credentials(line)
	name := 0 // where a name may begin
	for i := 0; i < len(line) && p.left > 0 && p.work > 0; i++ {
		c := line[i]
		switch {
		case c == '=' || c == ':' || isSpace(c):
			named := isSecretName(strings.Trim(line[name:i], `"' `))
			rest := strings.TrimLeft(line[i:], "=: \t")
			p.work -= len(line) - i
			if named || !isSpace(c) {
				p.assigned(token(rest), named)
			}
			if named {
				p.assigned(rest, true)
			}
			if isSpace(c) && strings.TrimLeft(line[i:], " \t") == rest { // otherwise the name may have blanks around what follows
				name = i + 1
			}
		case strings.IndexByte(",;?&{(", c) >= 0:
			name = i + 1
		}
	}
}

// token returns the beginning of a text up to white space, or the text in quotes with which it begins.
func token(text string) string {
	if text != "" && (text[0] == '"' || text[0] == '\'') {
		for i := 1; i < len(text); i++ {
			switch text[i] {
			case '\\':
				i++
			case text[0]:
				return text[:i+1]
			}
		}
	}
	for i := range len(text) {
		if isSpace(text[i]) {
			return text[:i]
		}
	}
	return text
}

// assigned yields what follows a name: as it is, without quotes, without a comment or a comma after it, and without escapes.
func (p *parser) assigned(text string, named bool) {
	p.quoted(text, named)
	if trimmed := strings.TrimRight(text, ",;&})\"'"); trimmed != text {
		p.quoted(trimmed, named)
	}
	if before, _, found := strings.Cut(text, " #"); found {
		p.quoted(strings.TrimSpace(before), named)
	}
	for _, end := range []string{"&", ",", ";", "\""} {
		if before, _, found := strings.Cut(text, end); found {
			p.text(before, named)
		}
	}
	p.escaped(text, named)
}

// quoted yields a text with and without the quotes around it.
func (p *parser) quoted(text string, named bool) {
	p.text(text, named)
	if plain := unquoted(text); plain != text {
		p.in(func() { p.text(plain, named) })
	}
}

// unquoted returns a text without the quotes around it, and without its escapes.
func unquoted(text string) string {
	if len(text) >= 2 && (text[0] == '"' || text[0] == '\'') && text[0] == text[len(text)-1] {
		quote := text[:1]
		text = text[1 : len(text)-1]
		text = strings.ReplaceAll(text, quote+quote, quote)
	}
	if !strings.Contains(text, `\`) {
		return text
	}
	plain := (&Reading{Text: []byte(text)}).unescaped(escapes[0])
	if plain == nil {
		return text
	}
	return string(plain.Text)
}

// credentials yields the parts of a line with colons: user:password, and host:port:database:user:password.
func (p *parser) credentials(line string) {
	if user, password, found := strings.Cut(line, ":"); found && !strings.ContainsAny(user, " \t") {
		p.text(password, !strings.Contains(password, "//") && !strings.HasPrefix(password, " "))
	}
	if at := strings.LastIndexByte(line, ':'); at >= 0 && strings.Count(line, ":") >= 4 {
		p.text(line[at+1:], true)
	}
}

// address matches the beginning of a URL with what is in it.
var address = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.\-]*://[^\s"'<>` + "`" + `]+`)

// urls yields the secret parts of the URLs in a line.
func (p *parser) urls(line string) {
	if !strings.Contains(line, "://") { // most lines; the expression is slower
		return
	}
	for _, text := range address.FindAllString(line, -1) {
		_, rest, _ := strings.Cut(text, "://")
		rest, parameters, _ := strings.Cut(rest, "?")
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			user, password, two := strings.Cut(rest[:at], ":")
			p.escaped(password, true)
			p.escaped(user, !two)
			p.escaped(rest[:at], false)
		}
		for path := range strings.SplitSeq(rest, "/") {
			p.escaped(path, false)
		}
		for parameter := range strings.SplitSeq(parameters, "&") {
			name, value, _ := strings.Cut(parameter, "=")
			p.escaped(value, isSecretName(name))
		}
	}
}

// escaped yields a part of a URL with and without its escapes.
func (p *parser) escaped(text string, named bool) {
	p.text(text, named)
	if !strings.ContainsAny(text, "%+") {
		return
	}
	for _, decode := range []func(string) (string, error){url.PathUnescape, url.QueryUnescape} {
		if plain, err := decode(text); err == nil && plain != text {
			p.in(func() { p.text(plain, named) })
		}
	}
}
