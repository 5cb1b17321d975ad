package build

import (
	"testing"

	"metascript/controller/object/objecttest"
	"metascript/controller/spec/spectest"
)

func TestHooksRememberUnlessTheyMaySeeTheTime(t *testing.T) {
	const sync = "def sync(parent): return {'children': []}\n"
	script := func(source string) string { return "script: " + objecttest.Inline("Starlark", source) }
	javaScript := func(source string) string { return "script: " + objecttest.Inline("JavaScript", source) }
	for _, c := range []struct {
		name, spec string
		want       bool
	}{
		{"a script", script(sync), true},
		{"a parameter now", script("def sync(parent, now): return {'children': []}\n"), false},
		{"a key now", script("def sync(request): return {'status': {'time': request['now']}, 'children': []}\n"), false},
		{"the word in a comment", script("# not now\n" + sync), true},
		{"the word in a description", script("def sync(parent):\n    '''The children, as of now.'''\n    return {'children': []}\n"), true},
		{"the word in a sentence", script("def sync(parent): return {'status': {'why': 'not now, but later'}, 'children': []}\n"), true},
		{"the word in a format", script("def sync(request): return {'status': {'why': '%(now)s' % request}, 'children': []}\n"), false},
		{"an attribute now", script("def sync(request): return {'status': {'time': request.now}, 'children': []}\n"), false},
		{"an escape", script("def sync(parent): return {'status': {'why': 'a\\x20b'}, 'children': []}\n"), true},
		{"the word within other words", script("# unknown, nowhere, Dates\n" + sync), true},
		{"an escaped letter", script("def sync(request): return {'status': {'time': request['n\\x6fw']}, 'children': []}\n"), false},
		{"Date", javaScript("exports.sync = () => ({status: {hour: new Date().getHours()}, children: []});"), false},
		{"Date in a comment", javaScript("// Date\nexports.sync = () => ({children: []}); /* now */"), true},
		{"Date in a sentence", javaScript("exports.sync = () => ({status: {why: `no Date is set`}, children: []});"), true},
		{"Date as a text", javaScript("exports.sync = () => ({status: {hour: new globalThis['Date']().getHours()}, children: []});"), false},
		{"Date with an escape", javaScript("exports.sync = () => ({status: {hour: new D\\u0061te().getHours()}, children: []});"), false},
		{"a parameter now in JavaScript", javaScript("exports.sync = ({now}) => ({status: {now}, children: []});"), false},
		{"a member now", javaScript("exports.sync = (request) => ({status: {time: request.now}, children: []});"), false},
		{"a computed member now", javaScript("exports.sync = (request) => ({status: {time: request['now']}, children: []});"), false},
		{"code in a text, which no script can run", javaScript("exports.sync = () => ({status: {hour: (() => 1).constructor('return Date')}, children: []});"), true},
		{"Jsonnet", "script: " + objecttest.Inline("Jsonnet", "// not now\n{ sync(parent):: { children: [] } }"), false},
		{"JavaScript", javaScript("exports.sync = () => ({children: []});"), true},
		{"a finalize hook that sees the time", script(sync + "def finalize(now): return {'children': [], 'finalized': True}\n"), false},
		{"a customize hook", script(sync + "def customize(parent): return {'relatedResources': []}\n"), true},
		{"a webhook", "hooks: {sync: {webhook: {url: 'http://a/'}}}", false},
		{"a customize webhook", script(sync) + "\nhooks: {customize: {webhook: {url: 'http://a/'}}}", false},
		{"a fallback", "hooks: {sync: {script: " + objecttest.Inline("Starlark", sync) + ", webhook: {url: 'http://a/'}}}", false},
		{"a listed script", "hooks: {sync: {script: " + objecttest.Inline("Starlark", sync) + "}}", true},
		{"it is turned off", "script: {language: Starlark, remember: false, inline: " + objecttest.Quoted(sync) + "}", false},
		{"it is turned on", "script: {language: Starlark, remember: true, inline: " + objecttest.Quoted(sync) + "}", true},
	} {
		loaded := load(t, newBuilder(), c.spec)
		if got := loaded.Hooks().Remembers; got != c.want {
			t.Errorf("%s: Remembers is %t", c.name, got)
		}
		off := newBuilder()
		off.AlwaysResync = true
		loaded, err := off.ReadAndBuild(t.Context(), spectest.Composite(t, c.spec))
		if err != nil || loaded.Hooks().Remembers {
			t.Errorf("%s: with AlwaysResync Remembers is %t, %v", c.name, loaded.Hooks().Remembers, err)
		}
	}
}

func TestTaggedHooks(t *testing.T) {
	const sync = "script: {language: Starlark, inline: 'def sync(parent): return {\"children\": []}'}"
	for _, c := range []struct {
		name, spec string
		want       bool
	}{
		{"ETags", "hooks: {sync: {webhook: {url: 'http://a/', etag: {enabled: true}}}}", true},
		{"no ETags", "hooks: {sync: {webhook: {url: 'http://a/', etag: {enabled: false}}}}", false},
		{"a customize webhook without ETags", "hooks: {sync: {webhook: {url: 'http://a/', etag: {enabled: true}}}, customize: {webhook: {url: 'http://a/'}}}", true},
		{"the webhook of another hook", sync + "\nhooks: {customize: {webhook: {url: 'http://a/', etag: {enabled: true}}}}", false},
		{"a fallback", "hooks: {sync: {" + sync + ", webhook: {url: 'http://a/', etag: {enabled: true}}}}", false},
	} {
		built := load(t, newBuilder(), c.spec)
		hooks := built.Hooks()
		if hooks.Tagged != c.want || hooks.Tagged && hooks.Remembers {
			t.Errorf("%s: Tagged is %t, Remembers is %t", c.name, hooks.Tagged, hooks.Remembers)
		}
		off := newBuilder()
		off.AlwaysResync = true
		loaded, err := off.ReadAndBuild(t.Context(), spectest.Composite(t, c.spec))
		if err != nil || loaded.Hooks().Tagged {
			t.Errorf("%s: with AlwaysResync Tagged is %t, %v", c.name, loaded.Hooks().Tagged, err)
		}
	}
}
