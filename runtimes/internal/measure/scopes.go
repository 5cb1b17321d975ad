package measure

// Scopes counts what resolving the names of a file takes: for each function or other scope, how many names are used in it
// and declared around it.
type Scopes struct {
	stack []scope
	all   map[string]bool // that were declared, wherever
}

// A scope is a function or a comprehension, or the file. The names that are used are counted.
type scope struct {
	declared map[string]bool
	used     map[string]int
}

// Enter begins a scope within the one before.
func (s *Scopes) Enter() {
	s.stack = append(s.stack, scope{declared: map[string]bool{}, used: map[string]int{}})
}

// Declare adds a name to the innermost scope, which may have been used there before.
func (s *Scopes) Declare(name string) {
	if s.all == nil {
		s.all = map[string]bool{}
	}
	s.all[name] = true
	s.stack[len(s.stack)-1].declared[name] = true
}

// Use counts the use of a name in the innermost scope.
func (s *Scopes) Use(name string) { s.stack[len(s.stack)-1].used[name]++ }

// Leave ends the innermost scope. What it uses and does not declare is used by the one around it; Leave gives how many
// names that are.
func (s *Scopes) Leave() (captures int) {
	last := len(s.stack) - 1
	inner, outer := s.stack[last], &s.stack[last-1]
	s.stack = s.stack[:last]
	for name := range inner.declared {
		delete(inner.used, name)
	}
	more, all := inner.used, outer.used
	if len(more) > len(all) {
		more, all = all, more
	}
	captures = len(inner.used)
	for name, n := range more {
		all[name] += n
	}
	outer.used = all
	return captures
}

// Declared reports whether a name was declared in any scope.
func (s *Scopes) Declared(name string) bool { return s.all[name] }

// Undefined returns how many names the outermost scope declares, and how often one is used that neither it declares nor
// known knows.
func (s *Scopes) Undefined(known func(name string) bool) (names, uses int) {
	file := s.stack[0]
	for name, n := range file.used {
		if !file.declared[name] && !known(name) {
			uses += n
		}
	}
	return len(file.declared), uses
}
