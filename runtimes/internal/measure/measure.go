// Package measure defines how much the compilation of a script may cost, for all languages.
//
// The parsers, resolvers and compilers of the languages check no context: they cannot be stopped. Some of their work grows faster
// than the text, with the depth of its nesting or with the product of two counts. For example, each function that uses a name from
// an enclosing function costs one unit for each such name: a thousand functions that use a thousand names cost a million. Each
// runtime computes the cost from the tokens or the syntax tree before that work begins. A source that exceeds one of the bounds is
// refused, with the position where it exceeds the bound.
//
// At each bound, compilation takes at most some tenths of a second and some tens of megabytes. Scripts that people write, or that
// generators write for them, stay below the bounds: a Starlark or JavaScript file of one MiB, the maximum, reaches some tenths of
// each bound. A Jsonnet file of 200 KB with a thousand names at its top reaches a bound.
package measure

import (
	"fmt"

	"metascript/engine"
)

// A Bound is the maximum of a count in a source.
type Bound struct {
	Max  int
	What string // what is counted, such as "parameters in one function"
	Hint string // the hint of the error
}

// Exceeded returns the error for a source that exceeds the bound at a position.
func (b *Bound) Exceeded(at engine.Pos) *engine.Error {
	return &engine.Error{
		Kind: engine.KindSource, Pos: at,
		Msg: fmt.Sprintf("has more than %d %s", b.Max, b.What), Hint: b.Hint,
	}
}

// Bounds of one file, or of a part of a file.
var (
	// Brackets, JsonnetBrackets, Chain and Operators limit what parsers recurse for or read again: goja's parser uses up to
	// 4 KB of Go's stack for each open bracket, and Jsonnet's 9 KiB.
	Brackets        = &Bound{50_000, "brackets and question marks", "split it into several files"}
	JsonnetBrackets = &Bound{20_000, "brackets", "move data to a file for importstr and std.parseJson"}
	Chain           = &Bound{20_000, "words and operators in a row, with no bracket, comma or semicolon between them", "split it into several statements"}
	Operators       = &Bound{20_000, "operators in a row", "split it into several expressions"}
	// Runs are operators without blanks between them; the time of Jsonnet's lexer grows with the square of their length.
	Runs = &Bound{20_000_000, "operators without blanks between them, by the square of how long their rows are", "put blanks between them"}
	// Labels: each label is compared with all enclosing labels.
	Labels = &Bound{1000, "labels in a row", "a statement needs one label at most"}
	// Tree limits the nesting of the syntax tree: resolvers and compilers recurse. An operator in a chain is a level too.
	Tree         = &Bound{3000, "levels of nesting; an operator in a chain is a level too", "split it into several statements"}
	StarlarkTree = &Bound{5000, "levels of nesting; an operator in a chain and an elif are levels too", "split it into several statements"}
	JsonnetTree  = &Bound{20_000, "words and operators around one place, each of which may be a level of nesting", "split it into several locals or elements"}
	// JsonnetNesting limits nested brackets. For each, Jsonnet's parser and the later steps use up to 25 KB.
	JsonnetNesting = &Bound{500, "brackets in one another", "split it into several locals"}
	// Arrows limits arrow functions that are nested in default values of parameters: goja's parser reads the parameters of
	// each function twice, so the time doubles with each level.
	Arrows = &Bound{8, "arrow functions in the parameters of one another", "give the inner functions names of their own before"}
	// Parameters: for each named argument of a call, all parameters of the function are searched, in one step.
	Parameters = &Bound{250, "parameters in one function", "pass several values as one dict"}
)

// Bounds of a script, for all its files together: see Tally.
var (
	// Captures: each function and each comprehension has a list of the names that it uses from enclosing functions. Each name
	// costs some 4 µs and 400 bytes.
	Captures = &Bound{150_000, "uses of names from around the functions that use them", "use fewer functions within functions, or pass what they need as parameters"}
	// Undefined: the resolver compares each undefined name with all defined names, for a hint.
	Undefined = &Bound{100_000, "names to compare with those that are not defined", "define them"}
	// Lookups: for each use of a name, all enclosing functions and blocks are searched, some 40 ns for each.
	Lookups = &Bound{10_000_000, "functions and blocks around the names that are used, added up over all uses", "nest functions and blocks less deeply, or write shorter ones"}
	// Exits: break, continue and return leave the loops, blocks and try statements around them one by one, with up to
	// three instructions and some 100 bytes for each.
	Exits = &Bound{1_000_000, "loops and blocks that break, continue and return leave, added up", "nest loops less deeply, or leave them in fewer places"}
	// Reread: tokens that goja's parser reads again because they are in the parameters of arrow functions.
	Reread = &Bound{1_000_000, "words in the parameters of arrow functions, each counted as many times as it is read", "give the functions in the parameters names of their own before"}
	// Folded: goja adds constant texts when it compiles. Each sum is a copy.
	Folded = &Bound{32 << 20, "bytes of texts added by +, each sum counted by itself", "write the text as one, or join an array"}
	// Patterns: what the compiled regular expressions take.
	Patterns = &Bound{64 << 20, "bytes of compiled regular expressions", "make them from fewer alternatives and repetitions, or in the function that needs them"}
	// Products: Jsonnet's analysis lists the names that are used in each expression and the names that are visible in each
	// scope, some 500 ns for each name.
	Products = &Bound{2_200_000, "expressions times the names that are used in them, and scopes times the names that are visible", "split it into several files, or nest less, and move data to a file for importstr and std.parseJson"}
	// Imports: for each expression, the imports in it are listed.
	Imports = &Bound{20_000_000, "comparisons of imports, for expressions around many of them", "import fewer files, or from several files"}
)

// A Tally has the counts of a script for the bounds that apply to all its files together.
type Tally map[*Bound]int

// Add adds n to the count for b, and reports whether the count is still within the bound.
func (t Tally) Add(b *Bound, n int) bool {
	t[b] += n
	return t[b] <= b.Max
}

// Merge adds the counts of another file. It returns a bound that is exceeded, or nil.
func (t Tally) Merge(other Tally) *Bound {
	var exceeded *Bound
	for b, n := range other {
		if !t.Add(b, n) {
			exceeded = b
		}
	}
	return exceeded
}
