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

// plus checks the operator +, and writes what is added to a string.
func plus(o *operation) (value, error, bool) {
	x, y := o.args[0], o.args[1]
	if isString(x) || isString(y) {
		return o.concatenation()
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
	return nil, nil, false
}

// concatenation makes strings of both operands.
func (o *operation) concatenation() (value, error, bool) {
	size := 0
	for n, arg := range o.args {
		if !isString(arg) {
			text, ok := o.written(arg)
			if !ok {
				return nil, o.fatal, o.fatal != nil
			}
			o.args[n] = newString(text)
		}
		size += length(o.args[n])
	}
	o.size(float64(size) * runeSize)
	concatenateNow(o, o.args[0])
	concatenateNow(o, o.args[1])
	return nil, nil, false
}

// maxPending is how deeply concatenations may be nested before they are carried out: the interpreter recurses for each.
const maxPending = 200

// concatenateNow carries out a concatenation that is nested too deeply. It follows the longer side, which is the one that grows.
func concatenateNow(o *operation, v value) {
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

// layersOf returns how many objects an object is the sum of; it stops counting above maxLayers.
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

// mergeCost returns the maximum number of fields of the layers, and how many fields are read to find them: the interpreter
// merges the fields of layers pair by pair.
func mergeCost(l layers) (fields, reads int) {
	switch w := layerWords(l); w.typ {
	case layout.extended:
		both := (*extendedLayers)(w.data)
		left, readsLeft := mergeCost(both.left)
		right, readsRight := mergeCost(both.right)
		return left + right, readsLeft + readsRight + right
	case layout.restrict:
		n := len((*restrictedLayers)(w.data).retainedFields)
		return n, n
	case layout.simple:
		n := len((*simpleLayers)(w.data).fields)
		return n, n
	}
	return 0, 0
}

// maxMerged is how many fields may be read to find the fields of an object.
const maxMerged = 1 << 21

// chargeMerging charges for finding the fields of an object, or refuses it if that is too much.
func (g *guard) chargeMerging(l layers) {
	n := layersOf(l)
	if n > maxLayers {
		g.refuse("an object added up from so many")
	}
	_, reads := mergeCost(l)
	if n > 1 && reads > maxMerged {
		g.refuse("an object added up from so many, which have so many fields,")
	}
	g.charge(int64(n) + int64(reads)/2)
}

func checkLayers(o *operation) {
	if object, ok := objectOf(o.args[0]); ok {
		o.chargeMerging(object.uncached)
	}
}

// checkFlatMerge accepts only what a comprehension passes to it: objects of one layer without locals. The interpreter panics
// for other arguments, and a script can call it by its name.
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
			break // the interpreter reports it
		}
		w := layerWords(object.uncached)
		if w.typ != layout.simple || len((*simpleLayers)(w.data).locals) > 0 {
			return o.fail("std['$objectFlatMerge'] is for comprehensions")
		}
	}
	return nil, nil, false
}

// fail ends the operation with an error of the script.
func (o *operation) fail(format string, args ...any) (value, error, bool) {
	return nil, raise(o.i, fmt.Sprintf(format, args...)), true
}

// checkSubstr refuses a start position above 2^53, for which the interpreter would panic.
func checkSubstr(o *operation) (value, error, bool) {
	if at := number(o.args[1]); at > maxExact {
		return o.fail("substr second parameter should be at most 2^53, got %g", at)
	}
	return nil, nil, false
}

// checkBase64 limits the result: four characters for three bytes. A character may have two bytes.
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

// folded implements std.foldl for arrays.
func folded(o *operation) (value, error, bool) {
	checkFold(o)
	k, f := kindOf(o.args[0])
	elements, ok := arrayOf(o.args[1])
	if !ok || k != functionKind {
		return nil, nil, false
	}
	l, sum := o.loop(o.i, f), o.args[2]
	for _, e := range elements {
		var err error
		if sum, err = l.call(&thunk{content: sum}, e); err != nil {
			return nil, err, true
		}
	}
	return sum, nil, true
}

// filtered implements std.filter.
func filtered(o *operation) (value, error, bool) {
	k, f := kindOf(o.args[0])
	elements, ok := arrayOf(o.args[1])
	if !ok || k != functionKind {
		return nil, nil, false
	}
	l := o.loop(o.i, f)
	out := make([]*thunk, 0, len(elements))
	for _, e := range elements {
		v, err := l.call(e)
		if err != nil {
			return nil, err, true
		}
		k, p := kindOf(v)
		if k != booleanKind {
			return nil, nil, false // it fails again, for the same reason
		}
		if (*booleanValue)(p).value {
			out = append(out, e)
		}
	}
	return newArray(slices.Clip(out)), nil, true
}

// checkJoin evaluates the parts, as the interpreter will, to know their length.
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

// checkReplace limits the result, whose length follows from the number of matches.
func checkReplace(o *operation) {
	str, from, to := o.args[0], o.args[1], o.args[2]
	if length(from) == 0 || length(to) <= length(from) {
		return
	}
	n := strings.Count(string(runesOf(str)), string(runesOf(from)))
	o.size((float64(length(str)) + float64(n)*float64(length(to)-length(from))) * runeSize)
	o.charge(int64(n))
}

// checkSplit counts the parts. A split from the end searches the whole rest for each part; charge counts that.
func checkSplit(o *operation) {
	str, sep := o.args[0], o.args[1]
	if !isString(str) || length(sep) == 0 {
		return
	}
	o.size(float64(length(str)) * 2 * runeSize) // for a copy
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

// checkRemoveAt refuses an index out of bounds, for which the interpreter would panic.
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

// sorted implements std.sort.
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
	l := o.loop(o.i, keyF)
	for n, e := range elements {
		key, err := l.call(e)
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

// extreme implements std.minArray and, with sign -1, std.maxArray.
func extreme(o *operation, sign int) (value, error, bool) {
	elements, ok := arrayOf(o.args[0])
	k, keyF := kindOf(o.args[1])
	if !ok || k != functionKind || len(elements) == 0 {
		return nil, nil, false
	}
	var best, bestKey value
	l := o.loop(o.i, keyF)
	for _, e := range elements {
		v, err := o.forced(o.i, e)
		if err != nil {
			return nil, err, true
		}
		key, err := l.call(e)
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

// compare compares like the operator <, for sort and similar functions.
func (o *operation) compare(x, y value) (int, error) {
	o.charge(1)
	if !scalar(x) || !scalar(y) {
		if _, err := o.order(x, y, 0); err != nil {
			return 0, err
		}
	}
	return valueCmp(o.i, x, y)
}

// flatMapped implements std.flatMap, which comprehensions use too.
func flatMapped(o *operation) (value, error, bool) {
	k, f := kindOf(o.args[0])
	elements, ok := arrayOf(o.args[1])
	switch {
	case k == functionKind && ok:
		return o.flatMapArray(f, elements)
	case k == functionKind && isString(o.args[1]) && o.what == "std.flatMap":
		return o.flatMapString(f, runesOf(o.args[1]))
	}
	return nil, nil, false // the interpreter reports the error
}

func (o *operation) flatMapArray(f unsafe.Pointer, elements []*thunk) (value, error, bool) {
	out := make([]*thunk, 0, len(elements))
	l := o.loop(o.i, f)
	for _, e := range elements {
		if longer, ok := l.collect(out, e); ok {
			out = longer
			continue
		}
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

// stripped implements std.stripChars, lstripChars and rstripChars.
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

// nodeSize is the memory of a parsed value: as JSON, and in the interpreter.
const nodeSize = 160

// objectNodes is the number of values as which an object counts: it is a map in both.
const objectNodes = 6

// checkParse counts what separates values in a text.
func checkParse(o *operation) {
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

// traced implements std.trace. It cuts texts that are longer than the log, so that they are not formatted.
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
