// Package measure says what the source of a script may cost to compile, for all languages in one place.
//
// Parsers, resolvers and compilers of the languages see no context: what they have begun they finish. Some of their work
// grows faster than the text, with the depth of its nesting or with the product of two counts: each function that uses a
// name from around it costs as much as the name, so that a thousand functions that use a thousand names cost a million.
// Each language counts, on its tokens or its syntax tree and before that work begins, what the work will be, and a source
// that passes one of the bounds here is refused with the place where it did.
//
// The bounds are for what compiling takes at worst, some tenths of a second and some tens of megabytes for each. What
// people write, and what generators write for them, stays below: a Starlark or JavaScript file of one MiB, the most that may be, has
// some tenths of any of them, and a Jsonnet file of 200 KB with a thousand names at its top as much as it may.
package measure

import (
	"fmt"

	"metascript/engine"
)

// A Bound is the most that something in a source may be.
type Bound struct {
	Most int
	What string // as in "has more than 250 parameters in one function"
	Hint string // what to do about it
}

// Passed is the error of a source that passes the bound at a place.
func (b *Bound) Passed(at engine.Pos) *engine.Error {
	return &engine.Error{
		Kind: engine.KindSource, Pos: at,
		Msg: fmt.Sprintf("has more than %d %s", b.Most, b.What), Hint: b.Hint,
	}
}

// Bounds of one file, or of something in it.
var (
	// Brackets, Row and Chain bound what parsers recurse for, or go back for: goja's takes up to 4 KB of Go's stack for
	// each bracket that is open, and Jsonnet's 9 KiB.
	Brackets        = &Bound{50_000, "brackets and question marks", "spread it over several files"}
	JsonnetBrackets = &Bound{20_000, "brackets", "move data to a file for importstr and std.parseJson"}
	Chain           = &Bound{20_000, "words and operators in a row, with no bracket, comma or semicolon between them", "take it apart into several statements"}
	Operators       = &Bound{20_000, "operators in a row", "take it apart into several expressions"}
	// Runs are operators without blanks between them; the time of Jsonnet's lexer grows with the square of their length.
	Runs = &Bound{20_000_000, "operators without blanks between them, by the square of how long their rows are", "put blanks between them"}
	// Labels of one statement are each compared with all around it.
	Labels = &Bound{1000, "labels in a row", "a statement needs one label at most"}
	// Tree bounds how deeply the syntax tree is nested: resolvers and compilers recurse, and an operator in a chain is a
	// level too.
	Tree         = &Bound{3000, "levels of nesting; an operator in a chain is a level too", "take it apart into several statements"}
	StarlarkTree = &Bound{5000, "levels of nesting; an operator in a chain and an elif are levels too", "take it apart into several statements"}
	JsonnetTree  = &Bound{20_000, "words and operators around one place, each of which may be a level of nesting", "take it apart into several locals or elements"}
	// JsonnetNesting bounds the brackets in one another, for each of which its parser and what follows take up to 25 KB.
	JsonnetNesting = &Bound{500, "brackets in one another", "take it apart into several locals"}
	// Arrows bounds arrow functions in the default values of the parameters of one another: goja's parser reads the
	// parameters of each twice, and so those of the innermost as many times as the power of two says.
	Arrows = &Bound{8, "arrow functions in the parameters of one another", "give the inner functions names of their own before"}
	// Parameters of a function are looked through for each named argument of a call, in one step.
	Parameters = &Bound{250, "parameters in one function", "pass several values as one dict"}
)

// Bounds of a script, all its files together: see Tally.
var (
	// Captures: each function and each comprehension keeps a list of the names that it uses from around it, some 4 µs and
	// 400 bytes for each.
	Captures = &Bound{150_000, "uses of names from around the functions that use them", "use fewer functions within functions, or pass what they need as parameters"}
	// Undefined: the resolver compares each name that is not defined with all that are, for a hint.
	Undefined = &Bound{100_000, "names to compare with those that are not defined", "define them"}
	// Lookups: for each use of a name, all functions and blocks around it are gone through, some 40 ns for each.
	Lookups = &Bound{10_000_000, "functions and blocks around the names that are used, added up over all uses", "nest functions and blocks less deeply, or write shorter ones"}
	// Exits: break, continue and return leave the loops, blocks and try statements around them one by one, with up to
	// three instructions and some 100 bytes for each.
	Exits = &Bound{1_000_000, "loops and blocks that break, continue and return leave, added up", "nest loops less deeply, or leave them in fewer places"}
	// Reread: tokens that goja's parser reads again since they are in the parameters of arrow functions.
	Reread = &Bound{1_000_000, "words in the parameters of arrow functions, each counted as many times as it is read", "give the functions in the parameters names of their own before"}
	// Folded: goja adds constant texts when it compiles, each sum again.
	Folded = &Bound{32 << 20, "bytes of texts added by +, each sum counted by itself", "write the text as one, or join an array"}
	// States of regular expressions: some 100 bytes for each.
	States = &Bound{300_000, "states in its regular expressions", "make them from fewer alternatives and repetitions, or in the function that needs them"}
	// Cases: for each character in a class of a regular expression that takes no notice of case, it is looked up what it is
	// in the other, some 30 ns for each.
	Cases = &Bound{32 << 20, "characters in the classes of its regular expressions that take no notice of case", "use smaller ranges, or make them in the function that needs them"}
	// Products: Jsonnet's analysis lists, for each expression, the names that are used in it, and for each scope all that
	// are visible, some 500 ns for each.
	Products = &Bound{2_200_000, "expressions times the names that are used in them, and scopes times the names that are visible", "spread it over several files, or nest less, and move data to a file for importstr and std.parseJson"}
	// Imports: for each expression, the imports within it are listed.
	Imports = &Bound{20_000_000, "comparisons of imports, for expressions around many of them", "import fewer files, or from several files"}
)

// A Tally adds up what a script has of the bounds that count for all its files together.
type Tally map[*Bound]int

// Add counts n more of b, and reports whether that is still within it.
func (t Tally) Add(b *Bound, n int) bool {
	t[b] += n
	return t[b] <= b.Most
}

// Merge adds what another file has. It gives a bound that is passed, or nil.
func (t Tally) Merge(other Tally) *Bound {
	var passed *Bound
	for b, n := range other {
		if !t.Add(b, n) {
			passed = b
		}
	}
	return passed
}
