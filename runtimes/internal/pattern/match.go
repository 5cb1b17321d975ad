package pattern

import "unicode/utf16"

// A Text is a text in which a program searches.
type Text struct {
	runes []rune  // code points with the flag u, else code units
	units []int32 // where each code point begins, and the end, in code units; nil if each is one
}

// NewText returns the text for a program with or without the flag u.
func NewText(length int, unit func(int) uint16, unicode bool) *Text {
	t := &Text{runes: make([]rune, 0, length)}
	for i := 0; i < length; i++ {
		r := rune(unit(i))
		if unicode && utf16.IsSurrogate(r) && i+1 < length {
			if pair := utf16.DecodeRune(r, rune(unit(i+1))); pair != '\ufffd' {
				r = pair
			}
		}
		if r > 0xffff && t.units == nil {
			t.units = make([]int32, 0, length)
			for j := range len(t.runes) {
				t.units = append(t.units, int32(j))
			}
		}
		if t.runes = append(t.runes, r); t.units != nil {
			t.units = append(t.units, int32(i))
		}
		if r > 0xffff {
			i++
		}
	}
	if t.units != nil {
		t.units = append(t.units, int32(length))
	}
	return t
}

// Size returns about how many bytes the text takes.
func (t *Text) Size() int { return 4 * (cap(t.runes) + cap(t.units)) }

// index returns the index of the character at a code unit, which may be its second one.
func (t *Text) index(unit int) int {
	if t.units == nil {
		return unit
	}
	lo, hi := 0, len(t.units)
	for lo < hi {
		if middle := (lo + hi) / 2; int(t.units[middle]) <= unit {
			lo = middle + 1
		} else {
			hi = middle
		}
	}
	return lo - 1
}

func (t *Text) unit(index int) int {
	if t.units == nil || index < 0 {
		return index
	}
	return int(t.units[index])
}

// A Watch is called again and again during a search, with the number of its steps and of the bytes that it uses. It may panic to end the
// search.
type Watch func(steps, bytes int)

// watched is after how many steps a Watch is called.
const watched = 1 << 12

// A state is the state of a search. What may be tried instead is on a stack, together with what the registers had before.
type state struct {
	p         *Program
	text      []rune
	registers []int32
	stack     []frame
	at        int32 // where the match ends

	steps, next int
	watch       Watch
	failed      []uint64 // a bit for each place of each instruction that is remembered; nil until the search has taken long
}

// A frame is a place where the search can go on, or what a register had before.
type frame struct {
	pc        int32 // where to go on; if it is negative, ^pc is a register, which had at
	at, limit int32 // a place, and up to which one the places before it are to be tried too
}

// Match searches for a match in a text, from a code unit on; with sticky, only there. It returns the code units where each group begins and
// ends, -1 for those that captured nothing, or nil if there is no match.
func (p *Program) Match(t *Text, from int, sticky bool, watch Watch) []int {
	s := &state{p: p, text: t.runes, registers: make([]int32, p.registers), watch: watch}
	for i := range s.registers {
		s.registers[i] = -1
	}
	for at := t.index(from); at <= len(s.text); at++ {
		if !sticky && p.begins != nil {
			for at < len(s.text) && !p.begins.has(s.text[at]) {
				at++
				s.step(1)
			}
		}
		s.step(1)
		if s.run(0, int32(at)) {
			s.registers[0], s.registers[1] = int32(at), s.at
			return s.groups(t)
		}
		if sticky {
			return nil
		}
	}
	return nil
}

func (s *state) groups(t *Text) []int {
	all := make([]int, 2*s.p.Groups)
	for i := range all {
		all[i] = t.unit(int(s.registers[i]))
	}
	return all
}

// maxFailed is the most words that a search uses to remember where it failed.
const maxFailed = 4 << 20

// step counts steps.
func (s *state) step(n int) {
	if s.steps += n; s.steps >= s.next {
		s.next = s.steps + watched
		words := (int(s.p.memos)*(len(s.text)+1) + 63) / 64
		remember := s.steps > 4*len(s.text) && words <= maxFailed
		if !remember {
			words = 0
		}
		s.watch(s.steps, cap(s.stack)*12+max(words, len(s.failed))*8)
		if remember && s.failed == nil && words > 0 {
			s.failed = make([]uint64, words)
		}
	}
}

// seen reports whether the search was at an instruction and a place before, where it failed then. It remembers that it is there now.
func (s *state) seen(memo, at int32) bool {
	bit := int(memo-1)*(len(s.text)+1) + int(at)
	before := s.failed[bit/64]&(1<<(bit%64)) != 0
	s.failed[bit/64] |= 1 << (bit % 64)
	return before
}

func (s *state) set(register, value int32) {
	if old := s.registers[register]; old != value {
		s.stack = append(s.stack, frame{pc: ^register, at: old})
		s.registers[register] = value
	}
}

func (s *state) push(pc, at int32) { s.stack = append(s.stack, frame{pc, at, at}) }

// pop returns where to go on. It leaves what was on the stack at base.
func (s *state) pop(base int) (pc, at int32, ok bool) {
	for len(s.stack) > base {
		top := &s.stack[len(s.stack)-1]
		switch {
		case top.pc < 0:
			s.registers[^top.pc] = top.at
		case top.at > top.limit:
			top.at--
			return top.pc, top.at + 1, true
		case top.at < top.limit:
			top.at++
			return top.pc, top.at - 1, true
		default:
			f := *top
			s.stack = s.stack[:len(s.stack)-1]
			return f.pc, f.at, true
		}
		s.stack = s.stack[:len(s.stack)-1]
	}
	return 0, 0, false
}

// run matches the instructions from pc up to opMatch. What may be tried instead remains on the stack if they match, and nothing if not.
func (s *state) run(pc, at int32) bool {
	base := len(s.stack)
	for {
		s.step(1)
		i, ok := &s.p.instructions[pc], true
		pc++
		if i.memo > 0 && s.failed != nil && s.seen(i.memo, at) {
			if pc, at, ok = s.pop(base); !ok {
				return false
			}
			continue
		}
		switch i.op {
		case opCharacter:
			var r rune
			if r, at, ok = s.move(at, i.back); ok {
				ok = r == i.x
			}
		case opSet:
			var r rune
			if r, at, ok = s.move(at, i.back); ok {
				ok = i.set.has(r)
			}
		case opRun:
			at, ok = s.runOf(i, pc, at)
		case opSplit:
			s.push(i.y, at)
			pc = i.x
		case opJump:
			pc = i.x
		case opSave:
			s.set(i.x, at)
		case opForget:
			s.step(int(i.y - i.x))
			for register := i.x; register < i.y; register++ {
				s.set(register, -1)
			}
		case opZero:
			s.set(i.x, 0)
		case opLoop:
			pc = s.loop(i, pc, at)
		case opNext:
			l := i.loop
			done := s.registers[l.counter]
			if ok = done < l.least || s.registers[l.begin] != at; ok {
				s.set(l.counter, done+1)
				pc = i.y
			}
		case opLook:
			ok = s.look(i, pc, at)
			pc = i.y
		case opReference:
			at, ok = s.reference(i, at)
		case opAssert:
			ok = s.holds(i.assert, at)
		case opMatch:
			s.at = at
			return true
		}
		if !ok {
			if pc, at, ok = s.pop(base); !ok {
				return false
			}
		}
	}
}

// move returns the next character, and the place after it.
func (s *state) move(at int32, back bool) (rune, int32, bool) {
	if back {
		if at == 0 {
			return 0, at, false
		}
		return s.text[at-1], at - 1, true
	}
	if int(at) == len(s.text) {
		return 0, at, false
	}
	return s.text[at], at + 1, true
}

// runOf matches as many characters of a set as possible. Fewer may be tried instead.
func (s *state) runOf(i *instruction, pc, at int32) (int32, bool) {
	n, enough := int32(0), at
	for n != i.y {
		r, next, ok := s.move(at, i.back)
		if !ok || !i.set.has(r) {
			break
		}
		n, at = n+1, next
		if n == i.x {
			enough = at
		}
	}
	s.step(int(n))
	if n < i.x {
		return at, false
	}
	if at > enough {
		s.stack = append(s.stack, frame{pc, at - 1, enough})
	} else if at < enough {
		s.stack = append(s.stack, frame{pc, at + 1, enough})
	}
	return at, true
}

// loop begins a repetition, or leaves the loop, and returns where to go on.
func (s *state) loop(i *instruction, pc, at int32) int32 {
	l := i.loop
	done := s.registers[l.counter]
	switch {
	case done < l.least:
	case done == l.most:
		return i.y
	case l.lazy:
		s.push(pc, at)
		return i.y
	default:
		s.push(i.y, at)
	}
	return pc
}

// look matches a look-around. What its groups captured remains if it holds and is not negative.
func (s *state) look(i *instruction, pc, at int32) bool {
	base := len(s.stack)
	holds := s.run(pc, at)
	if !holds {
		return i.negative
	}
	if i.negative {
		for len(s.stack) > base {
			top := s.stack[len(s.stack)-1]
			if s.stack = s.stack[:len(s.stack)-1]; top.pc < 0 {
				s.registers[^top.pc] = top.at
			}
		}
		return false
	}
	kept := base
	for _, f := range s.stack[base:] {
		if f.pc < 0 {
			s.stack[kept] = f
			kept++
		}
	}
	s.stack = s.stack[:kept]
	return true
}

// reference matches what a group captured.
func (s *state) reference(i *instruction, at int32) (int32, bool) {
	begin, end := s.registers[2*i.x], s.registers[2*i.x+1]
	if begin < 0 || end < 0 {
		return at, true
	}
	from, after := at, at+end-begin
	if i.back {
		from, after = at-(end-begin), at-(end-begin)
	}
	if from < 0 || int(from+end-begin) > len(s.text) {
		return at, false
	}
	s.step(int(end - begin))
	for n := range end - begin {
		a, b := s.text[begin+n], s.text[from+n]
		if a != b && (s.p.canonical == nil || s.p.canonical(a) != s.p.canonical(b)) {
			return at, false
		}
	}
	return after, true
}

// holds reports whether an assertion holds.
func (s *state) holds(assert kind, at int32) bool {
	before, after := at > 0, int(at) < len(s.text)
	switch assert {
	case textBegin:
		return !before
	case textEnd:
		return !after
	case lineBegin:
		return !before || lineEnds.has(s.text[at-1])
	case lineEnd:
		return !after || lineEnds.has(s.text[at])
	}
	edge := (before && s.p.words.has(s.text[at-1])) != (after && s.p.words.has(s.text[at]))
	return edge == (assert == wordEdge)
}
