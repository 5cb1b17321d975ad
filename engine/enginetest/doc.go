// Package enginetest is the conformance test suite for runtimes. Its cases are scripts, which show what an author of scripts can
// rely on in each language.
//
// The test of a runtime needs three lines:
//
//	func TestConformance(t *testing.T) {
//		enginetest.Run(t, engine.Starlark, starlark.New())
//	}
//
// [RunPacked] runs the same cases with an argument that has Maps and Arrays in place of maps and slices; see [engine.Map].
//
// # Cases
//
// Each file testdata/*.txtar tests one behavior in three languages. Its comment says what is tested. Its files are the scripts,
// the request and the expected answer:
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
// The file called sync.star, sync.js or sync.jsonnet, in any folder, is the entry file of the script in that language. The other
// files with an extension of the language (.star; .js; .jsonnet and .libsonnet) are its modules. Other files, such as data.txt,
// belong to the scripts in all languages.
//
// A case has a script in each language, unless a line of its comment gives a reason:
//
//	only: js: Starlark and Jsonnet have no promises.
//
// A script in JavaScript is also run as one in TypeScript, unless a line of the comment gives a reason:
//
//	except: ts: TypeScript has import and export.
//
// # Expectations
//
// By default, the answer must be equal to want.json. Integers in JSON are int64, other numbers (1.5, 1.0, 1e3) are float64, and an
// int64 is not equal to a float64: so the cases also check that 1 does not become 1.0.
//
// If compiling or the call must fail, a comment marks the line with the fault:
//
//	return {"spec": parent["spce"]}  # ERROR Runtime: "spce"
//
// The mark has the kind of the error, or several with | between them, and a regular expression (a Go string, quoted or in
// backquotes) that must match the message with its hint. The position of the error must be this line of this file, and column N
// if col=N follows. FRAME marks the lines of the calls that led there, with their depth and, if the language reports it, the name
// of the function that contains the line. The trace of the error must have them in that order:
//
//	return helper(parent)  # FRAME 1 sync
//
// The other files of an archive, all optional:
//
//	request.json     the argument; by default {}
//	want.json        the answer
//	error            an error without a line: the kinds, a space, and the regular expression without quotes
//	log.txt          the messages in order, as "level file:line text"; text that begins with ~ is a regular
//	                 expression, a line "..." matches any number of messages; by default there must be none
//	functions        the result of Program.Functions, separated by spaces
//	function         the function to call; by default sync
//	limits           lines such as "timeout: 50ms" or "depth: 10", with the names of the fields of engine.Limits
//	random.json      the key of random values, or the error of reading it; the known values, and those that must be drawn
//	cancel           if this file exists, the call is canceled at the first message
//
// Each may have a variant for one language, which has precedence: want.js.json, error.star, log.jsonnet.txt, limits.star.
//
// Text between ⟪ and ⟫ in any file is a Go template, for text that is long or invisible:
// ⟪repeat 1000 "x"⟫, ⟪bom⟫, ⟪cr⟫, ⟪range $i := 1000⟫{"name": "pod-⟪$i⟫"},⟪end⟫.
//
// # What else is checked
//
// Every call is made twice, and then four times concurrently, with the same argument. The answer or error must be the same each
// time, and the argument must not change. An error must be an [engine.Error] whose position, source line and trace are inside the
// files of the script. At the end, no goroutine may be left. The suite does not measure time. A call that does not return fails
// after many times its timeout, so that the suite ends.
//
// # Adding a case
//
// Write a file with a name like topic-behavior.txtar, and run
//
//	go test ./runtimes/... -run 'Conformance/topic-behavior' -v
//
// which also prints the errors as an author of scripts sees them. Check that they are easy to understand.
package enginetest
