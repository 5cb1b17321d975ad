package lib

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"metascript/engine"
)

// Random values are derived from the key of the call, as by the expand step of HKDF (RFC 5869): the bytes of a value are the HMAC-SHA256 of
// its label and a counter. The label has the function and the arguments on which the value depends, so that another name, or another
// length, has another value, which does not follow from the first.
//
// What the key belongs to is not known here; see package controller/random.

const (
	figures = "0123456789"
	lower   = "abcdefghijklmnopqrstuvwxyz"
	upper   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	symbols = "-._~" // of passwords: these need no escapes in URLs, in shells and in YAML

	maxLength    = 1024 // of a value
	leastLength  = 8    // of a password
	maxAlphabet  = 256
	maxName      = 200 // bytes
	stepsOfBlock = 64  // of one HMAC
)

// tokenValue returns a text of random characters.
func tokenValue(c *call) (any, error) {
	length, err := c.whole(3, 32, 1, maxLength)
	if err != nil {
		return nil, err
	}
	alphabet := []rune(lower + upper + figures)
	if c.args[4] != nil {
		if alphabet = []rune(c.text(4)); !isAlphabet(alphabet) {
			return nil, c.errorf("alphabet has %d characters, want 2 to %d different ones", len(alphabet), maxAlphabet)
		}
	}
	return c.secret([]any{length, string(alphabet)}, func(s *stream) string { return s.text(alphabet, length) })
}

// isAlphabet reports whether the characters can be those of a token.
func isAlphabet(characters []rune) bool {
	sorted := slices.Sorted(slices.Values(characters))
	return len(sorted) >= 2 && len(sorted) <= maxAlphabet && len(slices.Compact(sorted)) == len(characters)
}

// passwordValue returns a text that begins with a letter and has a lower-case and an upper-case letter, a digit and a symbol. All such
// texts are equally likely.
func passwordValue(c *call) (any, error) {
	length, err := c.whole(3, 24, leastLength, maxLength)
	if err != nil {
		return nil, err
	}
	alphabet := []rune(lower + upper + figures + symbols)
	return c.secret([]any{length}, func(s *stream) string {
		for {
			if text := s.text(alphabet, length); s.err != nil || isPassword(text) {
				return text
			}
		}
	})
}

func isPassword(text string) bool {
	for _, class := range []string{lower, upper, figures, symbols} {
		if !strings.ContainsAny(text, class) {
			return false
		}
	}
	return strings.ContainsAny(text[:1], lower+upper)
}

// secret returns the value at a key of a Secret, the arguments after the name. If there is none, it returns the known value, or the one that
// derive makes. options are the other arguments on which the value depends.
func (c *call) secret(options []any, derive func(*stream) string) (any, error) {
	label, err := c.label(options)
	if err != nil {
		return nil, err
	}
	random := c.random()
	switch observed, err := c.observed(c.object(1), c.text(2)); {
	case err != nil:
		return nil, err
	case observed != "":
		return observed, random.Draw(engine.Draw{Value: observed, Secret: true, Observed: true})
	}
	value, known := "", false
	if random != nil {
		value, known = random.Known[label]
	}
	if !known {
		s, err := c.stream(label)
		if err != nil {
			return nil, err
		}
		if value = derive(s); s.err != nil {
			return nil, s.err
		}
	}
	return value, random.Draw(engine.Draw{Label: label, Value: value, Secret: true})
}

// observed returns the value at a key of a Secret, decoded; "" if there is none.
func (c *call) observed(secret map[string]any, key string) (string, error) {
	if len(secret) == 0 {
		return "", nil
	}
	if secret["kind"] != "Secret" || secret["apiVersion"] != "v1" {
		err := c.errorf("secret is %s, want an observed Secret or null", c.kindOf(secret))
		err.Hint = `take it from the request, such as children["Secret.v1"]`
		return "", err
	}
	if values, _ := secret["stringData"].(map[string]any); values[key] != nil && values[key] != "" {
		return c.plain(values[key], key)
	}
	values, _ := secret["data"].(map[string]any)
	if values[key] == nil {
		return "", nil
	}
	encoded, err := c.plain(values[key], key)
	if err != nil {
		return "", err
	}
	value, invalid := base64.StdEncoding.DecodeString(encoded)
	if invalid != nil || !utf8.Valid(value) {
		err := c.errorf("data.%s of the Secret is not text in base64", key)
		err.Hint = "return the data of the observed Secret, if its value is to stay"
		return "", err
	}
	return string(value), nil
}

// plain returns a value of a Secret, which must be a text.
func (c *call) plain(v any, key string) (string, error) {
	text, ok := v.(string)
	if !ok {
		return "", c.errorf("%s of the Secret is %s, want a string", key, typeOf(v))
	}
	return text, nil
}

// kindOf names the kind of an object.
func (c *call) kindOf(o map[string]any) string {
	if kind, ok := o["kind"].(string); ok && kind != "Secret" {
		return "a " + kind
	}
	return "an object that is no Secret of v1"
}

// chosen returns one of the elements of a list. Each element has a random number of its own, and the largest wins: so the order does not
// matter, and if elements are added or removed, the choice changes only to one that was added, or if it was removed itself.
func chosen(c *call) (any, error) {
	list := c.list(1)
	if len(list) == 0 {
		return nil, c.errorf("list is empty")
	}
	label, err := c.label(nil)
	if err == nil {
		err = c.reserveJSON(c.sizes[1], c.sizes[2])
	}
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(list))
	for i, element := range list {
		texts[i] = writeJSON(element, 0)
	}
	if i := slices.Index(texts, writeJSON(c.args[2], 0)); i >= 0 && c.args[2] != nil {
		return list[i], nil
	}
	random := c.random()
	best := -1
	if random != nil {
		if known, ok := random.Known[label]; ok {
			best = slices.Index(texts, known)
		}
	}
	if best < 0 {
		if best, err = c.largest(label, texts); err != nil {
			return nil, err
		}
	}
	return list[best], random.Draw(engine.Draw{Label: label, Value: texts[best]})
}

// largest returns the index of the text with the largest random number.
func (c *call) largest(label string, texts []string) (int, error) {
	best, number := 0, uint64(0)
	for i, text := range texts {
		s, err := c.stream(label + text)
		if err != nil {
			return 0, err
		}
		if n := s.number(); s.err != nil {
			return 0, s.err
		} else if i == 0 || n > number {
			best, number = i, n
		}
	}
	return best, nil
}

// label returns the label of a value: the function, the name, which is the first argument, and options.
func (c *call) label(options []any) (string, error) {
	if name := c.text(0); name == "" || len(name) > maxName {
		return "", c.errorf("name has %d bytes, want 1 to %d", len(name), maxName)
	}
	return writeJSON(append([]any{c.Name, c.text(0)}, options...), 0), nil
}

// random returns where the random values of the call come from; nil: there are none.
func (c *call) random() *engine.Random {
	if drawer, ok := c.meter.(Drawer); ok {
		return drawer.Random()
	}
	return nil
}

// A stream has the bytes of one value.
type stream struct {
	call  *call
	mac   hash.Hash
	label string
	block int
	left  []byte
	err   error // of the meter; then all bytes are zero
}

// stream returns the stream of a value.
func (c *call) stream(label string) (*stream, error) {
	random := c.random()
	if random == nil || len(random.Key) == 0 {
		return nil, &engine.Error{
			Kind: engine.KindKey, Msg: c.Name + " needs the key of random values",
			Hint: "call it in the function of a hook, and not at the top level of a file",
		}
	}
	return &stream{call: c, mac: hmac.New(sha256.New, random.Key), label: label}, nil
}

// byte returns the next byte.
func (s *stream) byte() byte {
	if len(s.left) == 0 {
		if s.err == nil {
			s.err = s.call.meter.Spend(stepsOfBlock + int64(len(s.label))/bytesPerStep)
		}
		if s.err != nil {
			return 0
		}
		s.mac.Reset()
		s.mac.Write([]byte(strconv.Itoa(s.block) + s.label))
		s.left = s.mac.Sum(nil)
		s.block++
	}
	b := s.left[0]
	s.left = s.left[1:]
	return b
}

// number returns the next eight bytes as a number.
func (s *stream) number() uint64 {
	n := uint64(0)
	for range 8 {
		n = n<<8 | uint64(s.byte())
	}
	return n
}

// text returns the next characters of an alphabet, which are all equally likely.
func (s *stream) text(alphabet []rune, length int64) string {
	fair := 256 - 256%len(alphabet) // a byte from here on would favor some characters
	var b strings.Builder
	for range length {
		n := int(s.byte())
		for n >= fair && s.err == nil {
			n = int(s.byte())
		}
		b.WriteRune(alphabet[n%len(alphabet)])
	}
	return b.String()
}
