// Package enginetest is the conformance suite that every language's runtime passes: what a script may rely on,
// written down as scripts.
//
// A runtime's own test needs three lines:
//
//	func TestConformance(t *testing.T) {
//		enginetest.Run(t, engine.Starlark, starlark.New())
//	}
//
// # Cases
//
// Each file testdata/*.txtar is one behaviour in three languages. Its comment says what must hold, its files are
// the scripts, the request and the expected answer:
//
//	A function may take any of the request's fields, in any order.
//	-- request.json --
//	{"parent": {"name": "a"}, "children": {}}
//	-- sync.star --
//	def sync(children, parent):
//	    return {"name": parent["name"]}
//	-- sync.js --
//	function sync({children, parent}) { return {name: parent.name} }
//	-- sync.jsonnet --
//	{ sync(children, parent): { name: parent.name } }
//	-- want.json --
//	{"name": "a"}
//
// The file called sync.star, sync.js or sync.jsonnet, in whatever folder, is the entry of the script in that
// language. The other files of a language, by extension (.star; .js; .jsonnet and .libsonnet), are its modules;
// files such as data.txt are for all three.
//
// A case has all three languages, unless a line of its comment gives a reason:
//
//	only: js: Starlark and Jsonnet have no promises.
//
// # Expectations
//
// Without anything else, the answer must equal want.json. Whole numbers in JSON are int64, all others (1.5, 1.0,
// 1e3) float64, and the two are not equal: this is how "1 never becomes 1.0" is checked.
//
// A call (or the compilation before it) that must fail says so beside the line that is to blame:
//
//	return {"spec": parent["spce"]}  # ERROR Runtime: "spce"
//
// That is: the error's kind, or several with | between them, and a regular expression (a Go string, quoted or in
// backquotes) that the message with its hint matches; the error's position must be this line of this file, and
// column N too if col=N follows. Callers of the failing line are marked FRAME with their depth and, where the
// language tells it, the name of the function they are in; they must appear in that order in the error's trace:
//
//	return helper(parent)  # FRAME 1 sync
//
// The other files of an archive, all optional:
//
//	request.json     the argument; {} when there is none
//	want.json        the answer
//	error            for an error that belongs to no line: the kinds, a blank, the regular expression unquoted
//	log.txt          the messages in order, as "level file:line text"; text that begins with ~ is a regular
//	                 expression, a line of three dots stands for any messages; without the file there are none
//	functions        the names that Program.Functions gives, separated by blanks
//	function         the function to call; sync when there is none
//	limits           lines such as "timeout: 50ms" or "depth: 10", named like the fields of engine.Limits
//	cancel           its presence cancels the call at the first message
//
// Each may have a variant for one language, which wins: want.js.json, error.star, log.jsonnet.txt, limits.star.
//
// All files are expanded as Go templates between ⟪ and ⟫, for text that one does not want to write or cannot see:
// ⟪repeat 1000 "x"⟫, ⟪bom⟫, ⟪cr⟫, ⟪range $i := 1000⟫{"name": "pod-⟪$i⟫"},⟪end⟫.
//
// # What is checked besides
//
// Every call is made twice, and then four times at once, with one shared argument, and must give the same answer
// or error each time; the argument must be as before; an error must be an [engine.Error] whose position, source
// line and trace are inside the script's files; when all is over no goroutine may be left. Time is never measured:
// a call that does not return is failed after many times its timeout, so that the suite ends.
//
// # Adding a case
//
// Write the file, named topic-behaviour.txtar like its neighbours, and run
//
//	go test ./runtimes/... -run 'Conformance/topic-behaviour' -v
//
// which also prints the errors as an author would see them: read them as one.
package enginetest
