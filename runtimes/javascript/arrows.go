package javascript

import (
	"strings"

	"metascript/runtimes/internal/host"
	"metascript/runtimes/internal/measure"
)

// goja's parser first reads (a = 1) as an expression in brackets. If => follows, it reads the same text again as parameters, with
// all arrow functions that are default values there, which it reads twice each time. It reads no other text again. So this counts
// how often it reads each token. Text that is other syntax for the parser than here (a slash may begin a regular expression or
// divide) is counted wrongly, and is limited by the time for compiling.

// A bracket is an open bracket.
type bracket struct {
	opening byte // '(', '[', '{', or '$' for ${ in a template
	read    int  // tokens in it, counted as often as they are read
	deepest int  // how deeply arrow functions are nested in parameters
}

// arrows reads a text, token by token.
type arrows struct {
	host.Scanner
	open     []bracket // the first is the file
	closed   *bracket  // the bracket ) that has just been closed
	before   byte      // the kind of the previous token: 'v' if a value ends with it, otherwise its character
	reread   int
	exceeded *measure.Bound
}

// checkArrows refuses a text that the parser would read too often, and returns the offset.
func checkArrows(src string, tally measure.Tally) (at int, exceeded *measure.Bound) {
	a := &arrows{Scanner: host.Scanner{Text: src}, open: []bracket{{}}}
	for !a.Done() && a.exceeded == nil {
		a.token()
	}
	if a.exceeded == nil && !tally.Add(measure.Reread, a.reread) {
		a.exceeded = measure.Reread
	}
	return min(a.At, len(src)), a.exceeded
}

// token reads the next token, or the space before it.
func (a *arrows) token() {
	c := a.Text[a.At]
	switch {
	case c <= ' ':
		a.At++
		return
	case a.Comment():
		return
	}
	closed := a.closed
	a.closed = nil
	top := &a.open[len(a.open)-1]
	top.read++
	switch {
	case strings.HasPrefix(a.Rest(), "=>"):
		a.arrow(closed)
		a.At, a.before = a.At+2, '>'
	case c == '"' || c == '\'':
		if a.Quoted("\n") {
			a.before = 'v'
		}
	case c == '`':
		a.At++
		a.template()
	case c == '/' && a.before != 'v' && a.regExp():
	case c == '(' || c == '[' || c == '{':
		a.open = append(a.open, bracket{opening: c})
		a.At, a.before = a.At+1, c
	case c == ')' || c == ']' || c == '}':
		a.At++
		a.close(c)
	case wordByte(c):
		a.word()
	default:
		a.At, a.before = a.At+1, c
	}
}

// template reads a template up to its end or the next ${.
func (a *arrows) template() {
	for ; a.At < len(a.Text); a.At++ {
		switch {
		case a.Text[a.At] == '`':
			a.At, a.before = a.At+1, 'v'
			return
		case a.Text[a.At] == '\\':
			a.At++
		case strings.HasPrefix(a.Text[a.At:], "${"):
			a.open = append(a.open, bracket{opening: '$'})
			a.At, a.before = a.At+2, '{'
			return
		}
	}
}

// regExp reads a regular expression, and reports whether it is one: it ends in its line.
func (a *arrows) regExp() bool {
	class := false
	for i := a.At + 1; i < len(a.Text) && a.Text[i] != '\n'; i++ {
		switch c := a.Text[i]; {
		case c == '\\':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			a.At, a.before = i+1, 'v'
			return true
		}
	}
	return false
}

func wordByte(c byte) bool {
	return host.Letter(c) || c == '$' || c == '#' || c >= 0x80
}

// operators are the keywords after which a value begins.
var operators = map[string]bool{
	"return": true, "typeof": true, "case": true, "do": true, "else": true, "in": true, "of": true, "instanceof": true, "new": true,
	"delete": true, "void": true, "throw": true, "yield": true, "await": true, "default": true, "extends": true,
}

func (a *arrows) word() {
	a.before = 'v'
	if operators[a.Word(wordByte)] {
		a.before = 'w'
	}
}

// close closes the innermost bracket. The parser reports one that does not match.
func (a *arrows) close(c byte) {
	a.before = 'v'
	if len(a.open) == 1 {
		return
	}
	inner := a.open[len(a.open)-1]
	a.open = a.open[:len(a.open)-1]
	outer := &a.open[len(a.open)-1]
	outer.read += inner.read
	outer.deepest = max(outer.deepest, inner.deepest)
	switch {
	case inner.opening == '(' && c == ')':
		a.closed = &inner
	case inner.opening == '$' && c == '}':
		a.template()
	case inner.opening == '{':
		a.before = '}'
	}
}

// arrow is called for each =>, with the bracket before it.
func (a *arrows) arrow(params *bracket) {
	if params == nil {
		return
	}
	outer := &a.open[len(a.open)-1]
	outer.read += params.read
	outer.deepest = max(outer.deepest, params.deepest+1)
	a.reread += params.read
	if params.deepest+1 > measure.Arrows.Max {
		a.exceeded = measure.Arrows
	}
}
