package jsonnet

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// The checks of the operations and builtins that std.go lists.

func checkPlus(o *operation) {
	x, y := o.args[0], o.args[1]
	if isString(x) || isString(y) {
		size := o.stringSize(x) + o.stringSize(y)
		o.size(float64(size) * runeSize)
		settle(o, x)
		settle(o, y)
		return
	}
	if a, ok := arrayOf(x); ok {
		n := len(a) + length(y)
		o.size(float64(n) * 8)
		o.charge(int64(n) / 16)
	} else if a, ok := objectOf(x); ok {
		if b, ok := objectOf(y); ok && layersOf(a.uncached)+layersOf(b.uncached) > maxLayers {
			o.refuse("an object added up from so many")
		}
	}
}

// stringSize is the length of v as a string.
func (o *operation) stringSize(v value) int {
	if isString(v) {
		return length(v)
	}
	return int(o.text(v, "", ""))
}

// maxPending bounds how deep concatenations nest before they are carried out: the interpreter recurses for each.
const maxPending = 200

// settle carries out a concatenation that nests too deep. The longer side is the one that grows.
func settle(o *operation, v value) {
	top := v
	for n := 0; ; n++ {
		k, p := kindOf(v)
		if k != treeKind {
			return
		}
		t := (*treeString)(p)
		if t.right == nil {
			return
		}
		if n == maxPending {
			o.charge(int64(t.len) / 16)
			runesOf(top)
			return
		}
		if v = t.left; length(t.right) > length(t.left) {
			v = t.right
		}
	}
}

// layersOf counts the objects that one was added up from.
func layersOf(l layers) int {
	n := 0
	for ; n <= maxLayers; n++ {
		switch w := layerWords(l); w.typ {
		case layout.extended:
			return n + (*extendedLayers)(w.data).totalInheritanceSize
		case layout.restrict:
			l = (*restrictedLayers)(w.data).obj
		default:
			return n + 1
		}
	}
	return n
}

func layerWords(l layers) twoWords {
	a := any(l)
	return *(*twoWords)(unsafe.Pointer(&a))
}

// merging gives how many fields the layers have at the most, and how many are looked at to find which those are: the
// interpreter merges the fields of layers pair by pair.
func merging(l layers) (fields, looked int) {
	switch w := layerWords(l); w.typ {
	case layout.extended:
		both := (*extendedLayers)(w.data)
		left, lookedLeft := merging(both.left)
		right, lookedRight := merging(both.right)
		return left + right, lookedLeft + lookedRight + right
	case layout.restrict:
		n := len((*restrictedLayers)(w.data).retainedFields)
		return n, n
	case layout.simple:
		n := len((*simpleLayers)(w.data).fields)
		return n, n
	}
	return 0, 0
}

// maxMerged bounds how many fields are looked at to find out which an object has.
const maxMerged = 1 << 21

// chargeMerging charges for finding out which fields an object has, or refuses to.
func (g *guard) chargeMerging(l layers) {
	n := layersOf(l)
	if n > maxLayers {
		g.refuse("an object added up from so many")
	}
	_, looked := merging(l)
	if n > 1 && looked > maxMerged {
		g.refuse("an object added up from so many, which have so many fields,")
	}
	g.charge(int64(n) + int64(looked)/2)
}

func checkLayers(o *operation) {
	if object, ok := objectOf(o.args[0]); ok {
		o.chargeMerging(object.uncached)
	}
}

// checkFlatMerge lets nothing pass but what a comprehension gives it, objects of one layer without locals: the interpreter
// panics when it is given something else. A script can get at it by its name.
func checkFlatMerge(o *operation) (value, error, bool) {
	o.elements(float64(length(o.args[0])), 400)
	elements, _ := arrayOf(o.args[0])
	for _, e := range elements {
		v, err := o.element(e, 0)
		if err != nil {
			return nil, err, true
		}
		object, ok := objectOf(v)
		if !ok {
			break // the interpreter says so
		}
		w := layerWords(object.uncached)
		if w.typ != layout.simple || len((*simpleLayers)(w.data).locals) > 0 {
			return o.fail("std['$objectFlatMerge'] is for comprehensions")
		}
	}
	return nil, nil, false
}

// fail gives an error of the script's, which ends the operation.
func (o *operation) fail(format string, args ...any) (value, error, bool) {
	return nil, raise(o.i, fmt.Sprintf(format, args...)), true
}

// checkSubstr refuses to begin behind what the interpreter can count: it would panic.
func checkSubstr(o *operation) (value, error, bool) {
	if at := number(o.args[1]); at > maxExact {
		return o.fail("substr second parameter should be at most 2^53, got %g", at)
	}
	return nil, nil, false
}

// checkBase64 bounds the result: four characters for three bytes, of which a character may be two.
func checkBase64(o *operation) {
	bytes := length(o.args[0])
	if isString(o.args[0]) {
		for _, r := range runesOf(o.args[0]) {
			if r >= utf8.RuneSelf {
				bytes++
			}
		}
	}
	o.size(float64(bytes) * 4 / 3 * runeSize)
}

func checkFold(o *operation) {
	if isString(o.args[1]) {
		o.elements(float64(length(o.args[1])), elementSize)
	}
}

// checkJoin evaluates the parts, as the interpreter will, to know how long they are.
func checkJoin(o *operation) {
	parts, _ := arrayOf(o.args[1])
	unit := float64(runeSize)
	if !isString(o.args[0]) {
		unit = 8
	}
	total := 0.0
	for _, part := range parts {
		v, err := o.element(part, 0)
		if err != nil {
			return
		}
		n := length(v) + length(o.args[0])
		total += float64(n) * unit
		o.size(total)
		o.charge(1 + int64(n)/16)
	}
}

// replaced is how many bytes a character is, at the most, as UTF-8.
func checkReplace(o *operation) {
	str, from, to := o.args[0], o.args[1], o.args[2]
	if length(from) == 0 || length(to) <= length(from) {
		return
	}
	n := strings.Count(string(runesOf(str)), string(runesOf(from)))
	o.size((float64(length(str)) + float64(n)*float64(length(to)-length(from))) * runeSize)
	o.charge(int64(n))
}

// checkSplit counts the parts. A backwards split looks for each in all that is left, which charge has to know.
func checkSplit(o *operation) {
	str, sep := o.args[0], o.args[1]
	if !isString(str) || length(sep) == 0 {
		return
	}
	o.size(float64(length(str)) * 2 * runeSize) // it is copied
	n := float64(strings.Count(string(runesOf(str)), string(runesOf(sep))))
	if most := number(o.args[2]); most >= 0 {
		n = min(n, most)
	}
	o.elements(n+1, elementSize+48)
}

func checkMember(o *operation) {
	elements, ok := arrayOf(o.args[0])
	if !ok {
		return
	}
	for _, e := range elements {
		v, err := o.element(e, 0)
		if err != nil {
			return
		}
		if same, err := o.equal(v, o.args[1], 0); same || err != nil {
			return
		}
	}
}

// checkRemoveAt refuses an index that there is not: the interpreter would panic.
func checkRemoveAt(o *operation) (value, error, bool) {
	o.charge(int64(length(o.args[0])) / 8)
	elements, ok := arrayOf(o.args[0])
	k, _ := kindOf(o.args[1])
	at := number(o.args[1])
	if !ok || k != numberKind || at != math.Trunc(at) || at >= 0 && at < float64(len(elements)) {
		return nil, nil, false
	}
	return o.fail("Index %g out of bounds, not within [0, %d)", at, len(elements))
}

func checkEqual(o *operation) { _, _ = o.equal(o.args[0], o.args[1], 0) }
func checkOrder(o *operation) { _, _ = o.order(o.args[0], o.args[1], 0) }

// sorted is std.sort.
func sorted(o *operation) (value, error, bool) {
	elements, ok := arrayOf(o.args[0])
	if k, _ := kindOf(o.args[1]); !ok || k != functionKind {
		return nil, nil, false
	}
	o.elements(float64(len(elements)), 48)
	type item struct {
		key value
		of  *thunk
	}
	items := make([]item, len(elements))
	_, keyF := kindOf(o.args[1])
	for n, e := range elements {
		key, err := callFunction(keyF, o.i, callArguments{positional: []*thunk{e}})
		if err != nil {
			return nil, err, true
		}
		items[n] = item{key, e}
	}
	var failed error
	slices.SortStableFunc(items, func(a, b item) int {
		if failed != nil {
			return 0
		}
		r, err := o.compare(a.key, b.key)
		failed = err
		return r
	})
	if failed != nil {
		return nil, failed, true
	}
	out := make([]*thunk, len(items))
	for n := range items {
		out[n] = items[n].of
	}
	return newArray(out), nil, true
}

// extreme is std.minArray and, with sign -1, std.maxArray.
func extreme(o *operation, sign int) (value, error, bool) {
	elements, ok := arrayOf(o.args[0])
	k, keyF := kindOf(o.args[1])
	if !ok || k != functionKind || len(elements) == 0 {
		return nil, nil, false
	}
	var best, bestKey value
	for _, e := range elements {
		v, err := force(e, o.i)
		if err != nil {
			return nil, err, true
		}
		key, err := callFunction(keyF, o.i, callArguments{positional: []*thunk{e}})
		if err != nil {
			return nil, err, true
		}
		if bestKey != nil {
			r, err := o.compare(bestKey, key)
			if err != nil {
				return nil, err, true
			}
			if r*sign <= 0 {
				continue
			}
		}
		best, bestKey = v, key
	}
	return best, nil, true
}

// compare is what < is, for sort and its like.
func (o *operation) compare(x, y value) (int, error) {
	o.charge(1)
	if !scalar(x) || !scalar(y) {
		if _, err := o.order(x, y, 0); err != nil {
			return 0, err
		}
	}
	return valueCmp(o.i, x, y)
}

// flatMapped is std.flatMap, and thereby a comprehension.
func flatMapped(o *operation) (value, error, bool) {
	k, f := kindOf(o.args[0])
	elements, ok := arrayOf(o.args[1])
	switch {
	case k == functionKind && ok:
		return o.flatMapArray(f, elements)
	case k == functionKind && isString(o.args[1]) && o.what == "std.flatMap":
		return o.flatMapString(f, runesOf(o.args[1]))
	}
	return nil, nil, false // the interpreter says what is wrong
}

func (o *operation) flatMapArray(f unsafe.Pointer, elements []*thunk) (value, error, bool) {
	out := make([]*thunk, 0, len(elements))
	for _, e := range elements {
		v, err := callFunction(f, o.i, callArguments{positional: []*thunk{e}})
		if err != nil {
			return nil, err, true
		}
		part, ok := arrayOf(v)
		if !ok {
			return nil, nil, false // it fails again, for the same reason
		}
		if len(part) > 1 {
			o.size(float64(len(out)+len(part)) * 8)
			o.charge(int64(len(part)) / 16)
		}
		out = append(out, part...)
	}
	return newArray(slices.Clip(out)), nil, true
}

func (o *operation) flatMapString(f unsafe.Pointer, text []rune) (value, error, bool) {
	var out strings.Builder
	size := 0
	for _, r := range text {
		v, err := callFunction(f, o.i, callArguments{positional: []*thunk{{content: newString(string(r))}}})
		if err != nil {
			return nil, err, true
		}
		if !isString(v) {
			return nil, nil, false // it fails again, for the same reason
		}
		size += length(v)
		o.size(float64(size) * 2 * runeSize)
		o.charge(int64(length(v)) / 16)
		out.WriteString(string(runesOf(v)))
	}
	return newString(out.String()), nil, true
}

// stripped is std.stripChars and its like, of a string and characters.
func stripped(o *operation, left, right bool) (value, error, bool) {
	if !isString(o.args[0]) {
		return nil, nil, false
	}
	set := map[rune]bool{}
	if chars, ok := arrayOf(o.args[1]); ok {
		for _, c := range chars {
			v, err := force(c, o.i)
			if err != nil {
				return nil, err, true
			}
			if r := runesOf(v); len(r) == 1 {
				set[r[0]] = true
			}
		}
	} else if !isString(o.args[1]) {
		return nil, nil, false
	}
	for _, r := range runesOf(o.args[1]) {
		set[r] = true
	}
	text := runesOf(o.args[0])
	for left && len(text) > 0 && set[text[0]] {
		text = text[1:]
	}
	for right && len(text) > 0 && set[text[len(text)-1]] {
		text = text[:len(text)-1]
	}
	return newString(string(text)), nil, true
}

// nodeSize is what a value that was parsed takes: as Go's decoder has it, and as the interpreter does.
const nodeSize = 160

// objectNodes is how many values an object counts: it is a map, first of the decoder's and then of the interpreter's.
const objectNodes = 6

func checkParse(o *operation) {
	if !isString(o.args[0]) {
		return
	}
	nodes := 1
	for _, r := range runesOf(o.args[0]) {
		switch r {
		case ',', '[', ':':
			nodes++
		case '{':
			nodes += objectNodes
		}
	}
	o.elements(float64(nodes), nodeSize)
}

// maxYAML bounds a text of YAML, maxIndents its nesting, maxTags its directives: the time it takes grows faster than
// any of them. A document of its own takes a parser of its own, which is why there are maxDocuments.
const (
	maxYAML      = 1 << 20
	maxIndents   = 1000
	maxTags      = 100
	maxDocuments = 10_000
)

// named counts YAML's anchors, with mark '&', or aliases, with '*'.
func named(text []rune, mark rune) int {
	n := 0
	for i, r := range text {
		if r == mark && i+1 < len(text) && !strings.ContainsRune(" *\n", text[i+1]) && (i == 0 || strings.ContainsRune(" \n\t[{,:", text[i-1])) {
			n++
		}
	}
	return n
}

func checkParseYAML(o *operation) {
	checkParse(o)
	text := runesOf(o.args[0])
	count := func(what string) int { return strings.Count(string(text), what) }
	o.elements(float64(count("\n")+count("- ")+count("? ")), nodeSize)
	if anchors, aliases := named(text, '&'), named(text, '*'); anchors > 0 {
		o.size(float64(aliases) * float64(len(text))) // each may stand for almost all of it
	}
	if count("%TAG") > maxTags || count("\n---") > maxDocuments {
		o.refuse("std.parseYaml of so many documents or directives")
	}
	open, deepest, marks := 0, 0, 0
	for _, r := range text {
		switch r {
		case '[', '{':
			open++
		case ']', '}':
			open = max(0, open-1)
		case '-', '?', ' ':
			marks++
			deepest = max(deepest, marks/2)
		default:
			marks = 0
		}
		deepest = max(deepest, open)
	}
	if len(text) > maxYAML || deepest > maxIndents {
		o.refuse("std.parseYaml of a text so large or so deep")
	}
}

// traced is std.trace: what the log will not take is not formatted.
func traced(o *operation) (value, error, bool) {
	text := o.args[0]
	if !isString(text) {
		return nil, nil, false
	}
	room := int(o.limits.Log) + maxMessage
	if o.log.bytes > int64(room) {
		return o.args[1], nil, true
	}
	o.log.bytes += int64(min(length(text), room)) + 16
	if length(text) > room {
		o.args[0] = newString(string(runesOf(text)[:room]))
	}
	return nil, nil, false
}
