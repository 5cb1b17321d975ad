package pattern

import "slices"

// A kind says what a node matches.
type kind int

const (
	characters kind = iota // one of a set
	sequence               // all of a list, one after the other
	anyOf                  // the first of a list with which the rest matches
	repeat                 // the same several times
	capture                // what a group captures
	reference              // what a group has captured
	look                   // what follows or precedes, without moving
	textBegin              // the assertions
	textEnd
	lineBegin
	lineEnd
	wordEdge
	noWordEdge
)

// A node is a part of a pattern.
type node struct {
	kind        kind
	set         set
	list        []*node
	group       int // of capture and reference
	first, last int // the groups in what is repeated

	least, most int // of repeat; most is -1 if it has no limit
	lazy        bool

	back, negative bool // of look
}

// empty reports whether n can match an empty text.
func (n *node) empty() bool {
	switch n.kind {
	case characters:
		return false
	case sequence:
		return !slices.ContainsFunc(n.list, func(part *node) bool { return !part.empty() })
	case anyOf:
		return slices.ContainsFunc(n.list, (*node).empty)
	case capture:
		return n.list[0].empty()
	case repeat:
		return n.least == 0 || n.list[0].empty()
	}
	return true
}

// begins returns the characters with which a text that n matches begins. ok is false if they are not known.
func (n *node) begins() (s set, ok bool) {
	switch n.kind {
	case characters:
		return n.set, true
	case sequence:
		for _, part := range n.list {
			more, ok := part.begins()
			if s = append(s, more...); !ok || !part.empty() {
				return s.normal(), ok
			}
		}
		return s.normal(), true
	case anyOf:
		for _, part := range n.list {
			more, ok := part.begins()
			if !ok {
				return nil, false
			}
			s = append(s, more...)
		}
		return s.normal(), true
	case capture:
		return n.list[0].begins()
	case repeat:
		return n.list[0].begins()
	}
	return nil, n.kind != reference // the others do not move
}

// An op says what an instruction does.
type op int

const (
	opCharacter op = iota // one character: x
	opSet                 // one character of the set
	opRun                 // characters of the set, as many as possible, at least x and at most y
	opSplit               // goes on at x, and then at y
	opJump                // goes on at x
	opSave                // stores the position in register x
	opForget              // stores -1 in the registers from x on, before y
	opZero                // stores 0 in register x
	opLoop                // begins a repetition, or goes on at y; see loop
	opNext                // ends a repetition, and goes on at y
	opLook                // matches what follows up to opMatch, and goes on at y
	opReference           // what the group x captured
	opAssert
	opMatch
)

// An instruction is a step of a program.
type instruction struct {
	op       op
	x, y     int32
	back     bool // it moves towards the beginning of the text
	negative bool // of opLook
	assert   kind
	set      *lookup
	loop     *loop
	memo     int32 // its number, from 1 on, among those of which [state.seen] remembers where they failed
}

// A loop is a repetition of something that is not one character. Its registers have how many repetitions were done, and the position at
// which the current one began.
type loop struct {
	counter, begin int32
	least, most    int32 // most is -1 if it has no limit
	lazy           bool
}

// A lookup is a set in which a character is found fast.
type lookup struct {
	ascii [128]bool
	more  set // the others
}

func newLookup(s set) *lookup {
	l := &lookup{}
	for _, part := range s {
		for r := part.lo; r <= min(part.hi, 127); r++ {
			l.ascii[r] = true
		}
		if part.hi > 127 {
			l.more = append(l.more, part)
		}
	}
	return l
}

func (l *lookup) has(r rune) bool {
	if r < 128 {
		return l.ascii[r]
	}
	return l.more.has(r)
}

// A Program is a pattern that [Program.Match] can match.
type Program struct {
	Unicode bool   // it is for code points, else for code units
	Groups  int    // how many groups it has, with the whole pattern as the first
	Names   []Name // of groups

	instructions []instruction
	registers    int // two for each group, then those of loops
	begins       *lookup
	canonical    func(rune) rune // nil unless case is ignored
	words        *lookup

	references bool // it has back-references

	memos    int32 // how many instructions have a number
	within   int   // in how many nodes what follows depends on more than the position: loops that count, and look-around
	afterRun bool  // the last instruction was opRun
}

// A Name is the name of a group.
type Name struct {
	Name  string
	Group int
}

// compile returns the program of a pattern.
func (t *translator) compile(whole *node) *Program {
	p := &Program{Unicode: t.unicode, Groups: t.groups + 1, registers: 2 * (t.groups + 1), words: newLookup(wordCharacters)}
	for name, group := range t.names {
		p.Names = append(p.Names, Name{name, group})
	}
	slices.SortFunc(p.Names, func(a, b Name) int { return a.Group - b.Group })
	if t.ignoreCase {
		p.canonical = upper
		if t.unicode {
			p.canonical = folded
			p.words = newLookup(simpleFolding().of(wordCharacters))
		}
	}
	if s, ok := whole.begins(); ok && !whole.empty() {
		p.begins = newLookup(s)
	}
	p.write(whole, false)
	p.add(instruction{op: opMatch})
	if p.references {
		p.memos = 0
	}
	return p
}

// add adds an instruction. Whether the rest matches from an instruction at a position on depends on nothing else if the pattern has no
// back-references, and no loop counts there. If it did not match once, it never will. That is remembered for instructions that are reached
// in several ways.
func (p *Program) add(i instruction) (at int) {
	if p.within == 0 && (i.op == opSplit || i.op == opRun || p.afterRun) {
		p.memos++
		i.memo = p.memos
	}
	p.afterRun = i.op == opRun
	p.instructions = append(p.instructions, i)
	return len(p.instructions) - 1
}

// next is the index of the next instruction.
func (p *Program) next() int32 { return int32(len(p.instructions)) }

func (p *Program) register() int32 {
	p.registers++
	return int32(p.registers - 1)
}

// write adds the instructions of a node. back is true within a look-behind.
func (p *Program) write(n *node, back bool) {
	switch n.kind {
	case characters:
		if len(n.set) == 1 && n.set[0].lo == n.set[0].hi {
			p.add(instruction{op: opCharacter, x: n.set[0].lo, back: back})
		} else {
			p.add(instruction{op: opSet, set: newLookup(n.set), back: back})
		}
	case sequence:
		for i := range n.list {
			if back {
				i = len(n.list) - 1 - i
			}
			p.write(n.list[i], back)
		}
	case anyOf:
		p.alternatives(n.list, back)
	case repeat:
		p.repetition(n, back)
	case capture:
		first := int32(2 * n.group)
		begin, end := first, first+1
		if back {
			begin, end = end, begin
		}
		p.add(instruction{op: opSave, x: begin})
		p.write(n.list[0], back)
		p.add(instruction{op: opSave, x: end})
	case reference:
		p.references = true
		p.add(instruction{op: opReference, x: int32(n.group), back: back})
	case look:
		at := p.add(instruction{op: opLook, negative: n.negative})
		p.within++
		p.write(n.list[0], n.back)
		p.add(instruction{op: opMatch})
		p.within--
		p.instructions[at].y = p.next()
	default:
		p.add(instruction{op: opAssert, assert: n.kind})
	}
}

func (p *Program) alternatives(list []*node, back bool) {
	var ends []int
	for i, part := range list {
		if i == len(list)-1 {
			p.write(part, back)
			break
		}
		at := p.add(instruction{op: opSplit, x: p.next() + 1})
		p.write(part, back)
		ends = append(ends, p.add(instruction{op: opJump}))
		p.instructions[at].y = p.next()
	}
	for _, at := range ends {
		p.instructions[at].x = p.next()
	}
}

func (p *Program) repetition(n *node, back bool) {
	body := n.list[0]
	if body.kind == characters && !n.lazy {
		p.add(instruction{op: opRun, x: int32(n.least), y: int32(n.most), set: newLookup(body.set), back: back})
		return
	}
	if n.least <= 1 && (n.most < 0 || n.least == 0 && n.most == 1) && !body.empty() {
		p.simple(n, back)
		return
	}
	l := &loop{counter: p.register(), begin: p.register(), least: int32(n.least), most: int32(n.most), lazy: n.lazy}
	p.add(instruction{op: opZero, x: l.counter})
	at := p.add(instruction{op: opLoop, loop: l})
	p.within++
	p.add(instruction{op: opSave, x: l.begin})
	p.forget(n)
	p.write(body, back)
	p.add(instruction{op: opNext, loop: l, y: int32(at)})
	p.within--
	p.instructions[at].y = p.next()
}

// forget adds an instruction that forgets what the groups in a repetition captured before.
func (p *Program) forget(n *node) {
	if n.last >= n.first {
		p.add(instruction{op: opForget, x: int32(2 * n.first), y: int32(2*n.last + 2)})
	}
}

// simple is repetition for *, + and ? if no repetition is empty. Then nothing has to be counted.
func (p *Program) simple(n *node, back bool) {
	begin := p.next()
	if n.least == 1 {
		p.forget(n)
		p.write(n.list[0], back)
		p.split(p.add(instruction{op: opSplit}), begin, p.next(), n.lazy)
		return
	}
	at := p.add(instruction{op: opSplit})
	p.forget(n)
	p.write(n.list[0], back)
	if n.most < 0 {
		p.add(instruction{op: opJump, x: begin})
	}
	p.split(at, int32(at)+1, p.next(), n.lazy)
}

// split sets where an opSplit goes on: with a repetition, or after all of them.
func (p *Program) split(at int, again, after int32, lazy bool) {
	if lazy {
		again, after = after, again
	}
	p.instructions[at].x, p.instructions[at].y = again, after
}
