package javascript

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"metascript/engine"
)

func TestWarningsAboutMembers(t *testing.T) {
	const sync = "exports.sync = () => "
	for _, c := range []struct{ name, main, lib, want string }{
		{"misspelled", "const lib = require('./lib.js');\n" + sync + "lib.nmae();", "exports.name = () => 1;", "sync.js:2:26: lib.nmae is not a function: lib.js exports no nmae (did you mean name?)"},
		{"in brackets", "const lib = require('./lib');\n" + sync + "lib['nmae']();", "module.exports = {name() {}};", "sync.js:2:26: lib.nmae is not a function: lib.js exports no nmae (did you mean name?)"},
		{"nothing is exported", "const lib = require('./lib');\n" + sync + "lib.name();", "function name() {}", "sync.js:2:26: lib.name is not a function: lib.js exports no name (it exports nothing)"},
		{"the library", "const ms = require('metascript');\n" + sync + "ms.yamll();", "", "sync.js:2:25: ms.yamll is not a function: metascript exports no yamll (did you mean yaml?)"},
		{"with spread", "const lib = require('./lib');\n" + sync + "[lib.a(), lib.b(), lib.cc()];", "const a = {a() {}};\nmodule.exports = {...a, b() {}};", "sync.js:2:45: lib.cc is not a function: lib.js exports no cc (it exports a, b)"},
		{"export of a field", "const lib = require('./lib');\n" + sync + "lib.bb();", "module.exports = {};\nmodule.exports.b = 1;\nexports.c = 2;", "sync.js:2:26: lib.bb is not a function: lib.js exports no bb (it exports b)"},

		{"right", "const lib = require('./lib');\n" + sync + "lib.name();", "exports.name = () => 1;", ""},
		{"a method of every object", "const lib = require('./lib');\n" + sync + "lib.hasOwnProperty('x');", "exports.name = () => 1;", ""},
		{"checked before", "const lib = require('./lib');\n" + sync + "lib.more ? lib.more() : 1;", "exports.name = () => 1;", ""},
		{"optional", "const lib = require('./lib');\n" + sync + "lib.more?.();", "exports.name = () => 1;", ""},
		{"not called", "const lib = require('./lib');\n" + sync + "lib.more;", "exports.name = () => 1;", ""},
		{"set", "const lib = require('./lib');\nlib.more = () => 1;\n" + sync + "lib.more();", "exports.name = () => 1;", ""},
		{"assigned", "let lib = require('./lib');\nlib = {more() {}};\n" + sync + "lib.more();", "exports.name = () => 1;", ""},
		{"passed on", "const lib = require('./lib');\nextend(lib);\nfunction extend(x) {}\n" + sync + "lib.more();", "exports.name = () => 1;", ""},
		{"passed on in an object", "const lib = require('./lib');\nextend({lib});\nfunction extend(x) {}\n" + sync + "lib.more();", "exports.name = () => 1;", ""},
		{"shadowed", "const lib = require('./lib');\nexports.sync = (lib) => lib.more();", "exports.name = () => 1;", ""},
		{"exported later", "const lib = require('./lib');\nexports.sync = () => [lib.load(), lib.more()];", "exports.load = () => { exports.more = () => 1 };", ""},
		{"exports are passed on", "const lib = require('./lib');\n" + sync + "lib.more();", "later(exports);\nfunction later(x) {}", ""},
		{"exports of another object", "const lib = require('./lib');\n" + sync + "lib.more();", "const all = {};\nmodule.exports = all;", ""},
		{"exports of a class", "const lib = require('./lib');\n" + sync + "lib.more();", "module.exports = new (class { more() {} })();", ""},
		{"exports of this", "const lib = require('./lib');\n" + sync + "lib.more();", "this.more = () => 1;", ""},
		{"a function", "const lib = require('./lib');\n" + sync + "lib.call(1);", "module.exports = function () {};", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := fstest.MapFS{"sync.js": {Data: []byte(c.main)}, "lib.js": {Data: []byte(c.lib)}}
			p, err := New().Compile(t.Context(), engine.Script{Language: engine.JavaScript, Entry: "sync.js", Files: files}, engine.Limits{})
			if err != nil {
				t.Fatal(engine.DetailOf(err))
			}
			var got, want []string
			for _, e := range p.(engine.Warned).Warnings() {
				got = append(got, e.Error())
			}
			if c.want != "" {
				want = []string{c.want}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
