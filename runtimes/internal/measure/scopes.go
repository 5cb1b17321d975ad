package measure

// Scopes counts the cost of resolving the names of a file: for each scope, how many names it uses that enclosing scopes declare.
type Scopes struct {
	stack []scope
	all   map[string]bool // the names that were declared in any scope
}

// A scope is a function, a comprehension or the file.
type scope struct {
	declared map[string]bool
	used     map[string]int // how often each name is used
}

// Enter begins a scope in the current one. The first scope is the file.
func (s *Scopes) Enter() {
	s.stack = append(s.stack, scope{declared: map[string]bool{}, used: map[string]int{}})
}

// Declare declares a name in the innermost scope. The name may have been used there before.
func (s *Scopes) Declare(name string) {
	if s.all == nil {
		s.all = map[string]bool{}
	}
	s.all[name] = true
	s.stack[len(s.stack)-1].declared[name] = true
}

// Use counts the use of a name in the innermost scope.
func (s *Scopes) Use(name string) { s.stack[len(s.stack)-1].used[name]++ }

// Leave ends the innermost scope. The names that it uses and does not declare count as used by the enclosing scope. Leave returns
// how many such names there are.
func (s *Scopes) Leave() (captures int) {
	last := len(s.stack) - 1
	inner, outer := s.stack[last], &s.stack[last-1]
	s.stack = s.stack[:last]
	for name := range inner.declared {
		delete(inner.used, name)
	}
	smaller, larger := inner.used, outer.used
	if len(smaller) > len(larger) {
		smaller, larger = larger, smaller
	}
	captures = len(inner.used)
	for name, n := range smaller {
		larger[name] += n
	}
	outer.used = larger
	return captures
}

// Declared reports whether a name was declared in any scope.
func (s *Scopes) Declared(name string) bool { return s.all[name] }

// Undefined returns how many names the outermost scope declares, and how often undefined names are used: names that the outermost
// scope does not declare and for which known is false.
func (s *Scopes) Undefined(known func(name string) bool) (names, uses int) {
	file := s.stack[0]
	for name, n := range file.used {
		if !file.declared[name] && !known(name) {
			uses += n
		}
	}
	return len(file.declared), uses
}
