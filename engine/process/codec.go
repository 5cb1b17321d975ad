package process

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"unsafe"

	"metascript/engine"
	"metascript/engine/packed"
	"metascript/engine/tree"
)

// A value is encoded as a tag and its content. Numbers are varints, texts begin with their length.
const (
	tagNil    = iota
	tagFalse  // nothing follows
	tagTrue   // nothing follows
	tagInt    // a zigzag varint
	tagFloat  // 8 bytes
	tagString // a text
	tagList   // the length, and the elements
	tagMap    // the length, and the key and value of each entry
	tagObject // an object that the other side stores: its number, id and version, 4 bytes of length, a map or a packed object
	tagKept   // the number of an object that the other side has stored
	tagPacked // the length and the bytes of a packed object, in requests only
	tagGroup  // what to change in a group: its number, keys to remove, the number of entries to set and these, in requests only
)

// maxDepth bounds the nesting of a request, as JSON's own decoder does.
const maxDepth = 10_000

// An encoder writes messages to buf.
type encoder struct {
	buf      []byte
	cost     int64                                 // approximate memory of the decoded values
	sent     *sentObjects                          // nil: the other side stores no objects
	identify func(engine.Map) (id, version string) // see engine.Env; may be nil

	// recordings are those of the objects whose reads the worker has to record, by number.
	recordings map[uint64]*packed.Recording
}

func (e *encoder) uint(n uint64) { e.buf = binary.AppendUvarint(e.buf, n) }
func (e *encoder) int(n int64)   { e.buf = binary.AppendVarint(e.buf, n) }
func (e *encoder) text(s string) { e.uint(uint64(len(s))); e.buf = append(e.buf, s...) }

// encoders are reused because of their buffers, unless these have become large.
var encoders = sync.Pool{New: func() any { return &encoder{} }}

func newEncoder() *encoder { return encoders.Get().(*encoder) }

// free makes e available to newEncoder. The caller must not use e afterwards.
func (e *encoder) free() {
	if cap(e.buf) <= 1<<20 {
		*e = encoder{buf: e.buf[:0]}
		encoders.Put(e)
	}
}

func (e *encoder) texts(list []string) {
	e.uint(uint64(len(list)))
	for _, s := range list {
		e.text(s)
	}
}

func (e *encoder) bool(b bool) {
	if b {
		e.buf = append(e.buf, tagTrue)
	} else {
		e.buf = append(e.buf, tagFalse)
	}
}

// The memory of values without their texts, in Go on 64 bits.
const (
	costScalar = 16
	costMap    = 336 // with room for 8
	costEntry  = 56  // for each further entry
	costList   = 40
	costPacked = 48 // what the allocator adds to a block, and the interface
)

// value writes a JSON-shaped value; depth counts the request as 1.
func (e *encoder) value(v any, depth int) error {
	if depth > maxDepth {
		return errors.New("a value is nested too deeply")
	}
	if m, ok := v.(packed.RecordedMap); ok && e.identifies(depth) {
		return e.recorded(m, depth)
	}
	v = packed.Whole(v) // what the worker reads of it is not known here
	switch v := v.(type) {
	case nil:
		e.buf = append(e.buf, tagNil)
	case bool:
		e.bool(v)
	case int64:
		e.cost += costScalar
		e.buf = append(e.buf, tagInt)
		e.int(v)
	case float64:
		e.cost += costScalar
		e.buf = binary.LittleEndian.AppendUint64(append(e.buf, tagFloat), math.Float64bits(v))
	case string:
		e.cost += costScalar + int64(len(v))
		e.buf = append(e.buf, tagString)
		e.text(v)
	case []any:
		return e.list(v, depth)
	case map[string]any:
		return e.object(engine.GoMap(v), depth)
	case engine.Map:
		return e.object(v, depth)
	case engine.Array:
		return e.array(v, depth)
	default:
		return fmt.Errorf("a value of type %T is not JSON-shaped", v)
	}
	return nil
}

func (e *encoder) list(v []any, depth int) error {
	e.cost += costList + costScalar*int64(len(v))
	e.buf = append(e.buf, tagList)
	e.uint(uint64(len(v)))
	for _, item := range v {
		if err := e.value(item, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// array is list for an array that is no slice.
func (e *encoder) array(v engine.Array, depth int) error {
	e.cost += costList + costScalar*int64(v.Len())
	e.buf = append(e.buf, tagList)
	e.uint(uint64(v.Len()))
	for i := range v.Len() {
		if err := e.value(v.Index(i), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// identified is the depth down to which maps may have an identity; see [engine.Env].
const identified = 4

// identifies reports whether maps at this depth may have an identity.
func (e *encoder) identifies(depth int) bool {
	return e.sent != nil && e.identify != nil && depth > 1 && depth <= identified
}

// recorded writes an object whose reads are recorded.
func (e *encoder) recorded(m packed.RecordedMap, depth int) error {
	object := m.Unrecorded()
	id, version := e.identify(object)
	if id == "" {
		return e.content(m.Whole(), depth)
	}
	o, err := e.identified(object, identity{id, version}, depth)
	e.record(o, m)
	return err
}

// object writes a map, or its number if the other side has stored it.
func (e *encoder) object(v engine.Map, depth int) error {
	if !e.identifies(depth) {
		return e.content(v, depth)
	}
	id, version := e.identify(v)
	if id != "" {
		_, err := e.identified(v, identity{id, version}, depth)
		return err
	}
	if m, ok := v.(engine.GoMap); ok && depth == identified-1 && len(m) >= minGroup {
		return e.group(m, depth)
	}
	return e.content(v, depth)
}

// identified writes an object with an identity, or its number if the other side has stored it.
func (e *encoder) identified(v engine.Map, i identity, depth int) (*sentObject, error) {
	if o := e.sent.use(i.id, i.version); o != nil && o.hasBytesOf(v) {
		e.buf = append(e.buf, tagKept)
		e.uint(o.number)
		return o, nil
	}
	return e.keep(v, i, depth)
}

// content writes a map without its identity.
func (e *encoder) content(v engine.Map, depth int) error {
	switch v := v.(type) {
	case engine.GoMap:
		return e.entries(v, depth)
	case packed.Map:
		e.packed(v)
		return nil
	}
	e.cost += costMap + costEntry*int64(max(0, v.Len()-8))
	e.buf = append(e.buf, tagMap)
	e.uint(uint64(v.Len()))
	for key, item := range v.All() {
		if err := e.entry(key, item, depth); err != nil {
			return err
		}
	}
	return nil
}

// packed writes a packed object.
func (e *encoder) packed(v packed.Map) {
	block := v.Bytes()
	e.cost += costPacked + int64(len(block))
	e.buf = append(e.buf, tagPacked)
	e.uint(uint64(len(block)))
	e.buf = append(e.buf, block...)
}

// keep writes an object that the other side has to store, and records it in sent.
func (e *encoder) keep(v engine.Map, i identity, depth int) (*sentObject, error) {
	before := e.cost
	number := e.sent.number()
	e.buf = append(e.buf, tagObject)
	e.uint(number)
	e.text(i.id)
	e.text(i.version)
	size := len(e.buf)
	e.buf = append(e.buf, 0, 0, 0, 0)
	start := len(e.buf)
	if err := e.content(v, depth); err != nil {
		return nil, err
	}
	length := len(e.buf) - start
	if length > math.MaxUint32 {
		return nil, errors.New("an object is larger than 4Gi")
	}
	binary.LittleEndian.PutUint32(e.buf[size:], uint32(length))
	o := sentObjectOf(v)
	o.id, o.version, o.number = strings.Clone(i.id), strings.Clone(i.version), number // they may be parts of the object
	o.cost = e.cost - before + int64(len(i.id)+len(i.version)) + costMap
	e.sent.add(o)
	return o, nil
}

// entries is content for a map[string]any. It visits the keys in no order, which costs less.
func (e *encoder) entries(v map[string]any, depth int) error {
	e.cost += costMap + costEntry*int64(max(0, len(v)-8))
	e.buf = append(e.buf, tagMap)
	e.uint(uint64(len(v)))
	for key, item := range v {
		if err := e.entry(key, item, depth); err != nil {
			return err
		}
	}
	return nil
}

// entry writes an entry of a map at depth.
func (e *encoder) entry(key string, item any, depth int) error {
	e.cost += int64(len(key))
	e.text(key)
	return e.value(item, depth+1)
}

// A decoder reads messages from s; decoded texts are parts of s. It stops at the first error, and then returns only zero
// values. It does not trust the other side: its allocations are limited by the length of s and by nodes.
type decoder struct {
	s     string
	err   error
	nodes int          // how many more values are allowed
	depth int          // how many more levels of nesting are allowed
	kept  *keptObjects // nil: no objects are stored

	records *recordedObjects // nil: what is read of objects is not recorded
}

func newDecoder(s string) *decoder { return &decoder{s: s, nodes: len(s), depth: maxDepth} }

var errMalformed = errors.New("malformed message")

// fail sets err, and makes all later reads fail.
func (d *decoder) fail() {
	if d.err == nil {
		d.err = errMalformed
	}
	d.s = ""
}

func (d *decoder) uint() uint64 {
	var n uint64
	for i := range len(d.s) {
		b := d.s[i]
		if i == binary.MaxVarintLen64-1 && b > 1 {
			break
		}
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			d.s = d.s[i+1:]
			return n
		}
	}
	d.fail()
	return 0
}

func (d *decoder) int() int64 {
	n := d.uint()
	return int64(n>>1) ^ -int64(n&1)
}

// count reads the number of elements that follow, each of at least one byte.
func (d *decoder) count() int {
	n := d.uint()
	if n > uint64(len(d.s)) {
		d.fail()
		return 0
	}
	return int(n)
}

// take reads n bytes.
func (d *decoder) take(n int) string {
	if n > len(d.s) {
		d.fail()
		return ""
	}
	s := d.s[:n]
	d.s = d.s[n:]
	return s
}

func (d *decoder) text() string { return d.take(d.count()) }

func (d *decoder) byte() byte {
	if s := d.take(1); s != "" {
		return s[0]
	}
	return 0xff
}

func (d *decoder) bool() bool { return d.byte() == tagTrue }

// texts reads a list of texts.
func (d *decoder) texts() []string {
	list := make([]string, d.count())
	for i := range list {
		list[i] = d.text()
	}
	return list
}

// uint32 reads four bytes.
func (d *decoder) uint32() uint32 {
	if s := d.take(4); s != "" {
		return binary.LittleEndian.Uint32([]byte(s))
	}
	return 0
}

// value reads a value.
func (d *decoder) value() any {
	switch d.byte() {
	case tagNil:
		return nil
	case tagFalse:
		return false
	case tagTrue:
		return true
	case tagInt:
		return d.int()
	case tagFloat:
		return d.float()
	case tagString:
		return d.text()
	case tagList:
		return d.list()
	case tagMap:
		return d.entries()
	case tagObject:
		return d.object()
	case tagKept:
		return d.known()
	case tagPacked:
		return d.packed()
	case tagGroup:
		return d.group()
	}
	d.fail()
	return nil
}

func (d *decoder) float() any {
	s := d.take(8)
	if s == "" {
		return nil
	}
	return math.Float64frombits(binary.LittleEndian.Uint64([]byte(s)))
}

// enter begins a list or map of n elements; leave ends it.
func (d *decoder) enter() (n int) {
	n = d.count()
	d.nodes -= n
	d.depth--
	if d.nodes < 0 || d.depth < 0 {
		d.fail()
		return 0
	}
	return n
}

func (d *decoder) leave() { d.depth++ }

func (d *decoder) list() any {
	list := make([]any, d.enter())
	for i := range list {
		list[i] = d.value()
	}
	d.leave()
	return list
}

func (d *decoder) entries() map[string]any {
	n := d.enter()
	m := make(map[string]any, n)
	for range n {
		key := d.text()
		m[key] = d.value()
	}
	d.leave()
	return m
}

// packedPrefix is the beginning of a packed object.
const packedPrefix = string(rune(tagPacked))

// packed reads a packed object. It is a copy, so that the memory of the message can be released.
func (d *decoder) packed() any {
	block := d.text()
	if d.kept == nil || d.err != nil {
		d.fail()
		return nil
	}
	m, err := packed.Load(unsafe.Slice(unsafe.StringData(block), len(block)))
	if err != nil {
		d.fail()
		return nil
	}
	return m
}

// object reads an object and stores it. Its texts are parts of a copy, so that the memory of the message can be released.
func (d *decoder) object() any {
	number, id, version := d.uint(), strings.Clone(d.text()), strings.Clone(d.text())
	s := d.take(int(d.uint32()))
	if d.kept == nil || d.err != nil {
		d.fail()
		return nil
	}
	inner := *d
	inner.records = nil
	if inner.s = s; !strings.HasPrefix(s, packedPrefix) {
		inner.s = strings.Clone(s)
	}
	v := inner.value()
	if _, ok := tree.MapOf(v); inner.err != nil || !ok || inner.s != "" {
		d.fail()
		return nil
	}
	d.nodes = inner.nodes
	d.kept.add(number, identity{id, version}, v)
	return d.records.of(number, v)
}

// known reads the number of a stored object, and returns the object.
func (d *decoder) known() any {
	number := d.uint()
	if d.kept == nil {
		d.fail()
		return nil
	}
	v, ok := d.kept.objects[number]
	if !ok {
		d.fail()
		return nil
	}
	return d.records.of(number, v)
}

// end returns the first error. Data that is left is an error.
func (d *decoder) end() error {
	if d.s != "" {
		d.fail()
	}
	return d.err
}
