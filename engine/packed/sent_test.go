package packed

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// Reads of an object in another process are added as they were recorded.
func TestSentReads(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		object, err := Pack(randomMap(r, 4))
		if err != nil {
			t.Fatal(err)
		}
		recording := (&Recorder{}).Record(object)
		for range r.IntN(100) {
			readRandomly(r, recording.Map())
		}
		want := recording.Reads()
		again := (&Recorder{}).Record(object)
		if err := again.Add(string(want.Append(nil))); err != nil {
			t.Fatal(err)
		}
		if got := again.Reads(); !slices.Equal(got.marks, want.marks) || !slices.Equal(got.absent, want.absent) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

// readRandomly reads something of a value.
func readRandomly(r *rand.Rand, v any) {
	switch v := v.(type) {
	case RecordedMap:
		switch r.IntN(8) {
		case 0:
			v.Len()
		case 1:
			v.Whole()
		default:
			inner, _ := v.Get(randomKey(r))
			readRandomly(r, inner)
		}
	case RecordedArray:
		if n := v.Len(); n > 0 {
			readRandomly(r, v.Index(r.IntN(n)))
		}
	}
}

// A process that lies about its reads cannot do more than make Hold wrong.
func TestReadsOfLiars(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 500 {
		content := randomMap(r, 4)
		before, err := Pack(content)
		if err != nil {
			t.Fatal(err)
		}
		after, err := Pack(change(r, content).(map[string]any))
		if err != nil {
			t.Fatal(err)
		}
		var lie Reads
		for range r.IntN(8) {
			lie.marks = append(lie.marks, mark(r.IntN(len(before.Bytes())*readKinds)))
			lie.absent = append(lie.absent, absence{mark(r.IntN(len(before.Bytes()) * readKinds)), randomKey(r)})
		}
		recording := (&Recorder{}).Record(before)
		if err := recording.Add(string(lie.Append(nil))); err != nil {
			t.Fatal(err)
		}
		if moved, hold := recording.Reads().Hold(before, after); hold {
			moved.Hold(after, before)
		}
	}
}

func TestInvalidSentReads(t *testing.T) {
	recording := (&Recorder{}).Record(Empty)
	for text, valid := range map[string]bool{
		"": false, "\x00": true, "\x01": false, "\x01\x02": true, "\x01\x7f": false, "\x41": false, "\x00\x00": false, "\x00\x00\x01": false,
		"\x00\x00\x01k": true, "\x00\xff\xff\xff\xff\xff\xff": false, string(Everything.Append(nil)): true,
	} {
		if err := recording.Add(text); (err == nil) != valid {
			t.Errorf("%q: %v", text, err)
		}
	}
	if got := recording.Reads(); !reflect.DeepEqual(got.marks, []mark{readWhole}) {
		t.Errorf("the reads are %v", got)
	}
}
