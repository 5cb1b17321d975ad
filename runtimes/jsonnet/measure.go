package jsonnet

import (
	"fmt"

	"metascript/engine"
	"metascript/runtimes/internal/host"
	"metascript/runtimes/internal/measure"
)

// go-jsonnet parses, desugars and analyzes a file in one step, and shows no syntax tree before. So what that takes is
// estimated from the tokens. The analysis records for each node of the tree which names are used in it, and for each scope, which
// is an object, a local, a function or a comprehension, which names are visible in it. There are at most as many nodes as tokens.
// The estimate counts the names that are used between two commas, and the names that are declared between the same brackets, with
// everything that is nested between them.

// A group is the text between two commas, or between two brackets.
type group struct {
	used     map[string]bool // names
	declared map[string]bool
	scopes   int
	around   int // expressions that contain the rest of the group, such as the body of a local
}

func (g *group) use(name string) {
	if g.used == nil {
		g.used = map[string]bool{}
	}
	g.used[name] = true
}

func (g *group) declare(name string) {
	if g.declared == nil {
		g.declared = map[string]bool{}
	}
	g.declared[name] = true
}

// addNames adds the names that inner, a group in g, uses.
func (g *group) addNames(inner *group) {
	if len(g.used) < len(inner.used) {
		g.used, inner.used = inner.used, g.used
	}
	for name := range inner.used {
		g.used[name] = true
	}
	g.scopes += inner.scopes
}

// A frame is an open bracket.
type frame struct {
	opening string
	part    group           // the tokens since the last comma or semicolon
	tokens  int             // the number of tokens in part
	element group           // the tokens since the last comma that is not in a local
	scopes  int             // the scopes in element before the last semicolon
	whole   group           // all tokens
	binds   int             // locals whose semicolon was not read yet
	local   bool            // the current position is in the local of an object
	params  map[string]bool // names that are parameters if the bracket belongs to a function
	lambda  bool            // the bracket has the parameters of function(x)
}

// A sourceMeter reads the tokens of a file and counts.
type sourceMeter struct {
	tally      measure.Tally // of the script
	open       []*frame      // the first is the file
	closed     *frame        // the bracket ( ) that has just been closed
	locals     int           // the nested locals of objects that contain the current token
	depth      int           // tokens that contain the current one and may each be a level of the syntax tree
	last       string        // the previous token; secondLast is the one before it
	secondLast string
	exceeded   *measure.Bound
}

// checkSource returns an error for a file for which the parser or the analysis would take too long or overflow the stack. They
// cannot be stopped, and a stack overflow ends the process.
func checkSource(file, text string, tally measure.Tally) error {
	if len(text) > maxCode {
		return &engine.Error{
			Kind: engine.KindSource, Pos: engine.Pos{File: file, Line: 1, Col: 1},
			Msg:  fmt.Sprintf("the file is larger than %d bytes", maxCode),
			Hint: "move data to a file for importstr and std.parseJson",
		}
	}
	at, exceeded := checkText(text)
	if exceeded == nil {
		at, exceeded = checkProducts(text, tally)
	}
	if exceeded == nil {
		return nil
	}
	return exceeded.Exceeded(host.At(file, text, at))
}

// checkText limits brackets and operators. It does not match brackets.
func checkText(text string) (at int, exceeded *measure.Bound) {
	row, run, runs, brackets := 0, 0, 0, 0
	for i := range len(text) {
		switch text[i] {
		case '!', '$', ':', '~', '+', '-', '&', '|', '^', '=', '<', '>', '*', '/', '%':
			row++
			run++
			runs += run
		case ' ', '\t', '\r', '\n':
			run = 0
		case '(', '[', '{':
			row, run = 0, 0
			brackets++
		default:
			row, run = 0, 0
		}
		switch {
		case brackets > measure.JsonnetBrackets.Max:
			return i, measure.JsonnetBrackets
		case row > measure.Operators.Max:
			return i, measure.Operators
		case runs > measure.Runs.Max:
			return i, measure.Runs
		}
	}
	return 0, nil
}

func checkProducts(text string, tally measure.Tally) (at int, exceeded *measure.Bound) {
	m := &sourceMeter{tally: tally, open: []*frame{{}}}
	l := lexer{host.Scanner{Text: text}}
	for m.exceeded == nil {
		start, token := l.next()
		at = start
		if token == "" {
			m.endElement(m.top())
			break
		}
		m.token(token)
	}
	return min(at, len(text)), m.exceeded
}

func (m *sourceMeter) top() *frame { return m.open[len(m.open)-1] }

// spend counts units of measure.Products.
func (m *sourceMeter) spend(n int) {
	if !m.tally.Add(measure.Products, n) {
		m.exceeded = measure.Products
	}
}

func (m *sourceMeter) token(token string) {
	top := m.top()
	top.tokens++
	m.spend(m.locals) // the expressions in the local of an object are copied
	if m.depth++; m.depth > measure.JsonnetTree.Max {
		m.exceeded = measure.JsonnetTree
	}
	if closed := m.closed; closed != nil {
		m.closed = nil
		if token == ":" || token == "=" || token == "+" && top.opening == "{" {
			m.function(top, closed)
		}
	}
	switch token {
	case "(", "[", "{":
		m.enter(token)
	case ")", "]", "}":
		m.leave(token)
	case ",":
		m.comma(top)
	case ";":
		m.endPart(top)
		m.endScopes(top)
		top.element.around++
		m.depth++
		top.binds = max(0, top.binds-1)
	case "local":
		m.local(top)
	case "function", "for":
		top.element.scopes++
	default:
		m.name(top, token)
	}
	m.secondLast, m.last = m.last, token
}

func (m *sourceMeter) enter(opening string) {
	if opening == "{" {
		m.top().element.scopes++
	}
	f := &frame{opening: opening}
	if opening == "(" {
		f.params = map[string]bool{}
		f.lambda = m.last == "function"
	}
	m.open = append(m.open, f)
	if len(m.open) > measure.JsonnetNesting.Max {
		m.exceeded = measure.JsonnetNesting // the engine checks nesting too, but also counts brackets in comments
	}
}

// leave closes the innermost bracket. The parser reports one that does not match.
func (m *sourceMeter) leave(closing string) {
	if len(m.open) == 1 {
		return
	}
	inner := m.top()
	m.endElement(inner)
	m.open = m.open[:len(m.open)-1]
	m.spend(inner.whole.scopes * len(inner.whole.declared) / 4)
	top := m.top()
	top.part.addNames(&inner.whole)
	switch {
	case inner.lambda:
		m.declareParams(top, inner)
	case closing == ")":
		m.closed = inner
	}
}

// function records that the bracket that was closed contains the parameters of a function.
func (m *sourceMeter) function(top, params *frame) {
	top.element.scopes++
	m.declareParams(top, params)
}

func (m *sourceMeter) declareParams(top, params *frame) {
	for name := range params.params {
		top.element.declare(name)
	}
}

// local begins a local: that of an object is visible in all of it, another one in what follows.
func (m *sourceMeter) local(top *frame) {
	if top.opening == "{" && (m.last == "{" || m.last == "," && top.binds == 0) {
		top.local = true
		m.locals++
		return
	}
	top.binds++
	top.element.scopes++
}

func (m *sourceMeter) comma(top *frame) {
	if top.binds > 0 {
		m.endPart(top)
		return
	}
	m.endElement(top)
}

// endPart ends the current part: each of its tokens is a node that may use all names in it.
func (m *sourceMeter) endPart(f *frame) {
	m.spend(f.tokens * len(f.part.used))
	f.element.addNames(&f.part)
	m.depth -= f.tokens
	f.part, f.tokens = group{}, 0
}

// endScopes ends the scopes before a semicolon: all names that were declared are visible in them.
func (m *sourceMeter) endScopes(f *frame) {
	m.spend(f.element.scopes * len(f.element.declared) / 4)
	f.scopes += f.element.scopes
	f.element.scopes = 0
}

func (m *sourceMeter) endElement(f *frame) {
	m.endPart(f)
	m.endScopes(f)
	m.spend(f.element.around * len(f.element.used))
	m.depth -= f.element.around
	f.whole.addNames(&f.element)
	f.whole.scopes += f.scopes
	f.scopes = 0
	f.element = group{}
	if f.local {
		f.local = false
		m.locals--
	}
}

// name records a word that is a name: as declared, or as used.
func (m *sourceMeter) name(top *frame, token string) {
	c := token[0]
	if !host.Letter(c) && c != '$' || c >= '0' && c <= '9' || m.last == "." {
		return
	}
	switch {
	case m.last == "local" && top.local:
		top.whole.declare(token)
	case m.last == "local", m.last == "for", m.last == "," && top.binds > 0:
		top.element.declare(token)
	case top.params != nil && (m.last == "(" || m.last == ","):
		top.params[token] = true
		top.part.use(token)
	default:
		top.part.use(token)
	}
}
