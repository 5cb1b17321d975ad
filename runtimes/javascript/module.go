package javascript

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/unistring"

	"metascript/engine"
	"metascript/runtimes/internal/host"
	"metascript/runtimes/internal/measure"
)

// A module is a compiled file. It is shared by all runs.
type module struct {
	src      string                   // JavaScript
	from     *translation             // of src, if the file is TypeScript
	code     *goja.Program            // of a JavaScript file
	declared map[string]file.Position // what it declares at its top level, and where
	outlines map[string]outline       // of its functions
	imported []imported
	members  []members
	atOnce   bool // it exports nothing later than by its top level
	uses     features
	timeless bool  // it certainly does not read the time
	random   []int // the offsets of Math.random
	once     int   // how many callbacks are made once
	data     any   // of a JSON file

	tally measure.Tally // what it took to compile
}

// exports are the exports of a module that has run.
type exports struct {
	value    goja.Value   // module.exports
	declared *goja.Object // what it declares at its top level, by name; nil for JSON
}

// functionsObject is the object whose functions can be called: module.exports if it has a function, or else what the file declares.
func (e exports) functionsObject() *goja.Object {
	if o, ok := e.value.(*goja.Object); ok && len(functions(o)) > 0 {
		return o
	}
	return e.declared // nil for JSON
}

// functions lists the fields of o that are functions and look like identifiers.
func functions(o *goja.Object) []string {
	if o == nil || !slices.Contains([]string{"an object", "a function"}, kindOfObject(o)) {
		return nil // a string or a buffer has too many keys
	}
	return slices.DeleteFunc(keysOf(o), func(name string) bool { return !naming.Identifier(name) || !callable(o.Get(name)) })
}

// isFunction reports whether module.exports is a function without other functions.
func (e exports) isFunction() bool {
	return callable(e.value) && len(functions(e.value.(*goja.Object))) == 0
}

func callable(v goja.Value) bool {
	_, ok := goja.AssertFunction(v)
	return ok
}

// load returns the exports of the file at name, and runs it if this run has not run it yet.
func (r *run) load(name string) (exports, error) {
	if e, ok := r.exports[name]; ok {
		return e, nil
	}
	if name == host.Library {
		return r.store(name, exports{value: r.library()}), nil
	}
	if cycle := r.loading.Cycle(name); cycle != "" {
		return exports{}, &engine.Error{Kind: engine.KindModule, Msg: "files require each other in a cycle: " + cycle}
	}
	m, err := r.p.module(r.ctx, name, r.limits)
	if err != nil {
		return exports{}, err
	}
	r.loading = append(r.loading, name)
	defer func() { r.loading = r.loading[:len(r.loading)-1] }()
	e, err := r.execute(name, m)
	if err != nil {
		return exports{}, err
	}
	return r.store(name, e), nil
}

// store stores the exports of a module.
func (r *run) store(name string, e exports) exports {
	if r.exports == nil {
		r.exports = map[string]exports{}
	}
	r.exports[name] = e
	return e
}

// execute runs a module's top level.
func (r *run) execute(name string, m *module) (exports, error) {
	if m.code == nil {
		return exports{value: r.value(m.data, place{})}, nil
	}
	r.prepare(m.uses)
	made, object := r.vm.NewObject(), r.vm.NewObject()
	if err := object.Set("exports", made); err != nil {
		return exports{}, err
	}
	wrapper, err := r.vm.RunProgram(m.code)
	if err != nil {
		return exports{}, err
	}
	call, _ := goja.AssertFunction(wrapper)
	tops, err := call(made, append([]goja.Value{made, object, r.vm.ToValue(r.requireFrom(name))}, r.syntaxFunctions(m.uses.rewritten)...)...)
	if err != nil {
		return exports{}, err
	}
	value := object.Get("exports")
	if o, ok := value.(*goja.Object); ok && m.from != nil {
		if keys := keysOf(o); len(keys) == 1 && keys[0] == "default" { // export default, and nothing else
			value = o.Get("default")
		}
	}
	return exports{value, tops.(*goja.Object)}, nil
}

// requireFrom returns the require function of the file at from.
func (r *run) requireFrom(from string) func(goja.FunctionCall) goja.Value {
	return func(call goja.FunctionCall) goja.Value {
		r.check()
		name, ok := call.Argument(0).(goja.String)
		if !ok {
			panic(r.vm.NewTypeError("require takes the name of a file"))
		}
		target, err := r.p.resolve(from, text(name, 200))
		if err != nil {
			panic(r.throwable(err))
		}
		e, err := r.load(target)
		if err == nil {
			if fault := r.checkImports(from, name.String(), target, e); fault != nil {
				err = fault
			}
		}
		if err != nil {
			panic(r.throwable(err))
		}
		return e.value
	}
}

// resolve finds the file that name means in the file at from: relative to its folder and then, if the name does not begin with
// a dot, to the root. The ending .js or .json may be left out.
func (p *program) resolve(from, name string) (string, error) {
	candidate := slices.Contains(libraryNames, name)
	if _, known := p.library.Load(from + "\x00" + name); candidate && known {
		return host.Library, nil
	}
	endings := []string{"", ".js", ".json"}
	if p.typescript {
		endings = []string{"", ".ts", ".js", ".json"}
	}
	file, found := host.Find(p.files, from, name, libraryNames, endings...)
	if stem, ok := strings.CutSuffix(name, ".js"); ok && !found && p.typescript { // the name of the file that a compiler would write
		file, found = host.Find(p.files, from, stem+".ts", nil)
	}
	if found {
		if file == host.Library {
			p.library.Store(from+"\x00"+name, true)
		}
		return file, nil
	}
	msg := fmt.Sprintf("there is no file %q to require", engine.Clip(name, maxText))
	hint := host.Chain{from}.Loadable(p.files, "required", libraryNames[0])
	switch {
	case absentModule(name) != "":
		hint = absentModule(name)
	case !p.typescript && host.Exists(p.files, from, name+".ts"):
		hint = "a script in JavaScript cannot require TypeScript: set language: TypeScript for the script"
	case slices.Contains(strings.Split(name, "/"), "..") || path.IsAbs(name):
		hint = "a file name must not be absolute or lead upwards with .."
	case !strings.Contains(name, "."):
		hint = "only the script's own files and metascript can be required, no packages and no modules of Node.js"
	}
	return "", &engine.Error{Kind: engine.KindModule, Msg: engine.Clip(msg, maxText), Hint: hint}
}

// module reads and compiles the file at name, once for all runs.
func (p *program) module(ctx context.Context, name string, l engine.Limits) (*module, error) {
	if m, ok := p.modules.Load(name); ok {
		return m.(*module), nil
	}
	data, err := fs.ReadFile(p.files, name)
	if err != nil {
		return nil, &engine.Error{Kind: engine.KindSource, Pos: engine.Pos{File: name}, Msg: "cannot be read: " + reason(err)}
	}
	if int64(len(data)) > l.Source {
		return nil, &engine.Error{
			Kind: engine.KindSource, Pos: engine.Pos{File: name},
			Msg: fmt.Sprintf("is larger than %d bytes", l.Source),
		}
	}
	m := &module{src: strings.TrimPrefix(string(data), "\ufeff"), tally: measure.Tally{}}
	switch ending := path.Ext(name); {
	case ending == ".json":
		m.data, err = decode(name, m.src)
	case ending == ".ts" && !p.typescript:
		err = &engine.Error{
			Kind: engine.KindModule, Msg: fmt.Sprintf("%q is TypeScript, and the script that requires it is JavaScript", name),
			Hint: "set language: TypeScript for the script",
		}
	case ending == ".ts", name == p.entry && p.typescript:
		if err = m.translate(name); err == nil {
			err = m.compile(ctx, name, l)
		}
	default:
		err = m.compile(ctx, name, l)
	}
	if err != nil {
		return nil, err
	}
	return p.store(name, m)
}

// reason returns why a file could not be read, without its name.
func reason(err error) string {
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return err.Error()
}

// compile converts a file to function(exports, module, require) {…; return {every top-level name}}. It wraps the parsed file,
// not its text, so that all positions are those of the file.
func (m *module) compile(ctx context.Context, name string, l engine.Limits) error {
	if err := m.measureText(name); err != nil {
		return err
	}
	parsed, err := parse(ctx, name, m.src)
	if ctx.Err() != nil {
		return engine.Stopped(ctx, engine.Pos{File: name}, l)
	}
	if err != nil {
		return m.invalid(name, err)
	}
	names := slices.DeleteFunc(declared(parsed.Body), func(id *ast.Identifier) bool { return m.from.adds(id.Name.String()) })
	m.imported = m.imports(name, parsed)
	m.members, m.atOnce = calledMembers(parsed), exportsAtOnce(parsed)
	m.outlines = outlines(parsed, names, m.places(name))
	m.timeless, m.random = !mayReadTime(parsed), usesOfRandom(parsed)
	if err := m.check(name, parsed); err != nil {
		return err
	}
	m.declared = make(map[string]file.Position, len(names))
	for _, id := range names {
		m.declared[id.Name.String()] = parsed.File.Position(int(id.Idx) - parsed.File.Base())
	}
	m.code, err = goja.CompileAST(wrap(parsed, names, m.once), false)
	if err != nil {
		return m.invalid(name, err)
	}
	return nil
}

// wrap makes the parsed file the body of a function that returns an object of the names. Its parameters are also the variables of the
// callbacks that are made once.
func wrap(parsed *ast.Program, names []*ast.Identifier, once int) *ast.Program {
	start, end := file.Idx(parsed.File.Base()), file.Idx(parsed.File.Base()+len(parsed.File.Source()))
	identifier := func(name string) *ast.Identifier {
		return &ast.Identifier{Name: unistring.NewFromString(name), Idx: start}
	}
	params := &ast.ParameterList{Opening: start, Closing: start}
	for _, name := range append([]string{"exports", "module", "require"}, syntaxNames...) {
		params.List = append(params.List, &ast.Binding{Target: identifier(name)})
	}
	for i := range once {
		params.List = append(params.List, &ast.Binding{Target: identifier(onceName(i))})
	}
	tops := &ast.ObjectLiteral{LeftBrace: end, RightBrace: end}
	for _, id := range names {
		tops.Value = append(tops.Value, &ast.PropertyShort{Name: ast.Identifier{Name: id.Name, Idx: end}})
	}
	body := append(slices.Clip(parsed.Body), &ast.ReturnStatement{Return: end, Argument: tops})
	function := &ast.FunctionLiteral{
		Function: start, Name: identifier(topLevel), ParameterList: params,
		Body:            &ast.BlockStatement{LeftBrace: start, List: body, RightBrace: end},
		DeclarationList: parsed.DeclarationList,
	}
	return &ast.Program{Body: []ast.Statement{&ast.ExpressionStatement{Expression: function}}, File: parsed.File}
}

// topLevel is the name of a file's top level in traces. No script can use it as a name.
const topLevel = "<module>"

// declared returns the names that a file declares at its top level, without classes, which cannot be called.
func declared(body []ast.Statement) []*ast.Identifier {
	var names []*ast.Identifier
	for _, statement := range body {
		switch s := statement.(type) {
		case *ast.FunctionDeclaration:
			names = append(names, s.Function.Name)
		case *ast.VariableStatement:
			names = bound(names, s.List)
		case *ast.LexicalDeclaration:
			names = bound(names, s.List)
		}
	}
	seen := map[unistring.String]bool{} // var may repeat, and a function too
	return slices.DeleteFunc(names, func(id *ast.Identifier) bool {
		again := seen[id.Name]
		seen[id.Name] = true
		return again
	})
}

func bound(names []*ast.Identifier, list []*ast.Binding) []*ast.Identifier {
	for _, b := range list {
		if _, class := b.Initializer.(*ast.ClassLiteral); !class {
			names = targets(names, b.Target)
		}
	}
	return names
}

// targets adds the names that a pattern binds.
func targets(names []*ast.Identifier, target ast.Expression) []*ast.Identifier {
	switch t := target.(type) {
	case *ast.Identifier:
		names = append(names, t)
	case *ast.AssignExpression: // a default
		names = targets(names, t.Left)
	case *ast.ArrayPattern:
		for _, element := range t.Elements {
			names = targets(names, element)
		}
		names = targets(names, t.Rest)
	case *ast.ObjectPattern:
		for _, property := range t.Properties {
			switch p := property.(type) {
			case *ast.PropertyShort:
				names = append(names, &p.Name)
			case *ast.PropertyKeyed:
				names = targets(names, p.Value)
			}
		}
		names = targets(names, t.Rest)
	}
	return names
}

// decode reads a JSON file as JSON-shaped values.
func decode(name, text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("more than one value")
		}
	}
	if err == nil {
		v, err = numbers(v)
	}
	if err == nil {
		return v, nil
	}
	e := &engine.Error{Kind: engine.KindSyntax, Pos: engine.Pos{File: name}, Msg: "not JSON: " + err.Error()}
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		e.Pos = host.At(name, text, max(0, min(int(syntax.Offset)-1, len(text))))
	}
	return nil, e
}

// numbers replaces JSON's numbers in v, in place: by int64 where they are whole and fit, else by float64.
func numbers(v any) (any, error) {
	var err error
	switch x := v.(type) {
	case json.Number:
		if n, err := x.Int64(); err == nil {
			return n, nil
		}
		return x.Float64()
	case []any:
		for i := range x {
			if x[i], err = numbers(x[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range x {
			if x[key], err = numbers(x[key]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
