package pattern

import (
	"fmt"
	"math"
	"regexp/syntax"

	"github.com/dop251/goja/parser"
)

const (
	// MaxLength is how many code units a pattern may have.
	MaxLength = 40_000

	maxSize   = 20_000    // how many instructions it may have
	maxDepth  = 500       // how deeply groups are nested
	maxRanges = 30_000    // how many ranges the classes of characters have
	maxWeight = 1_000_000 // the same for Go's package regexp, each counted as often as it is repeated

	// maxCaptures is the maximum of the instructions times the groups for Go's package regexp, which has a list of all groups for each
	// instruction at which it is.
	maxCaptures = 100_000
)

// refuse ends the translation of a pattern that is too large.
func refuse(format string, args ...any) {
	panic(&Error{Msg: fmt.Sprintf(format, args...), Large: true})
}

// Cost returns the time that Go's package regexp needs at most to read n characters of a text, in units of 20 to 50 ns. At each character it
// may be at all instructions.
func (p *Pattern) Cost(n int) float64 {
	return float64(n+1) * float64(p.Size) * (1 + float64(p.Groups)/16)
}

// CostOfAll is Cost for a search of all matches in a text of n characters. Each search begins at the end of the last match, and so reads again
// what the search before has read after it; see [node.beyond].
func (p *Pattern) CostOfAll(n int) float64 {
	return p.Cost(n) * (5 + min(p.beyond, float64(n)))
}

// fitsGo reports whether Go's package regexp may match a pattern: it can, and needs little memory. It returns how many instructions that
// has at most.
func (t *translator) fitsGo(text string, weight int) (instructions int, ok bool) {
	if weight > maxWeight {
		return 0, false
	}
	n, ok := goInstructions(text, t.multiline, t.dotAll, t.unicode)
	return n, ok && n <= maxSize && n*(t.groups+1) <= maxCaptures
}

// goInstructions returns how many instructions Go's package regexp makes at most of a text for goja; if they are more than maxSize, any
// such number. ok is false if it makes none. It parses the text as goja does. The tree has each repeated part once, so it is as small as the
// text.
func goInstructions(text string, multiline, dotAll, unicode bool) (n int, ok bool) {
	text, err := parser.TransformRegExp(text, dotAll, unicode)
	if err != nil {
		return 0, false
	}
	flags := ""
	if multiline {
		flags += "m"
	}
	if dotAll {
		flags += "s"
	}
	if flags != "" {
		text = "(?" + flags + ":" + text + ")"
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, false
	}
	return 2 + countInstructions(tree.Simplify()), true // it begins with one that fails, and ends with one that matches
}

// countInstructions returns how many instructions a simplified tree becomes at most. It stops above maxSize: then the tree, in which a
// repeated part occurs many times, may be too large to be visited.
func countInstructions(tree *syntax.Regexp) int {
	n := 1
	switch tree.Op {
	case syntax.OpConcat:
		n = 0
	case syntax.OpLiteral:
		n = len(tree.Rune)
	case syntax.OpCapture, syntax.OpStar: // a star has two if what it repeats can match an empty text
		n = 2
	case syntax.OpAlternate:
		n = len(tree.Sub) - 1
	}
	for _, part := range tree.Sub {
		if n += countInstructions(part); n > maxSize {
			break
		}
	}
	return max(n, 1)
}

// longest returns the length of the longest text that n matches, in characters; infinity if there is none.
func (n *node) longest() (length float64) {
	switch n.kind {
	case characters:
		return 1
	case sequence:
		for _, part := range n.list {
			length += part.longest()
		}
	case anyOf:
		for _, part := range n.list {
			length = max(length, part.longest())
		}
	case capture:
		return n.list[0].longest()
	case repeat:
		return product(n.list[0].longest(), n.most)
	case reference:
		return math.Inf(1)
	}
	return length
}

// beyond returns how many characters after the end of a match are read at most to know that no longer one is to be preferred.
//
// A repetition at the end of a pattern has a match after each time. A row of characters and repetitions of characters may be in one of the
// repetitions for long. But there the next match comes by too, and until that is at its end, it is the same match. So all searches together
// read this part of the text no more than twice.
func (n *node) beyond() (length float64) {
	switch last := len(n.list) - 1; {
	case n.kind == sequence && last >= 0:
		for _, part := range n.list[:last] {
			length += part.longest()
		}
		length += n.list[last].beyond()
	case n.kind == anyOf:
		for _, part := range n.list {
			length = max(length, part.beyond())
		}
	case n.kind == capture:
		length = n.list[0].beyond()
	case n.kind == repeat:
		length = min(product(n.list[0].longest(), n.most), product(n.list[0].longest(), n.least+1))
	default:
		length = n.longest()
	}
	return length
}

// row returns the length of a row of characters and repetitions of characters, without what its repetitions without limit have more than
// they need; infinity if n is something else.
func (n *node) row() (length float64) {
	switch n.kind {
	case sequence, capture:
		for _, part := range n.list {
			length += part.row()
		}
		return length
	case repeat:
		if n.most < 0 && n.list[0].kind == characters {
			return float64(n.least)
		}
		if n.list[0].kind == characters {
			return float64(n.most)
		}
	case characters:
		return 1
	case textBegin, textEnd, lineBegin, lineEnd, wordEdge, noWordEdge:
		return 0
	}
	return math.Inf(1)
}

// product returns the length of a text that is repeated so many times; -1 is without limit.
func product(length float64, times int) float64 {
	switch {
	case length == 0 || times == 0:
		return 0
	case times < 0:
		return math.Inf(1)
	}
	return length * float64(times)
}
