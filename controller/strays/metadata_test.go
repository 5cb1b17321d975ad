package strays

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"metascript/controller/kube"
	"metascript/test/bench/pods"
)

// randomList returns a list of objects with all that the metadata of one may have.
func randomList(random *rand.Rand) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	if random.IntN(2) == 0 {
		list.Continue = fmt.Sprint("token ", random.IntN(100))
	}
	for n := range random.IntN(8) {
		o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("o", n), Namespace: "default", UID: types.UID(fmt.Sprint("uid", n))}}
		if random.IntN(3) == 0 {
			o.Labels = map[string]string{"u1": "u1", "a": ""}
			o.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "u1", FieldsV1: metav1.NewFieldsV1(`{"u1":{}}`)}}
		}
		if random.IntN(4) == 0 {
			o.DeletionTimestamp = &metav1.Time{}
		}
		for range random.IntN(4) {
			owner := metav1.OwnerReference{Kind: "Widget", Name: "u1", UID: types.UID(fmt.Sprint("u", random.IntN(4)))}
			if controls := random.IntN(2) == 0; random.IntN(2) == 0 {
				owner.Controller = &controls
			}
			o.OwnerReferences = append(o.OwnerReferences, owner)
		}
		list.Items = append(list.Items, o)
	}
	return list
}

// The objects with an owner are those that are found in the whole list, in both formats.
func TestObjectsWithOwner(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	owners := map[types.UID]bool{"u1": true, "u3": true}
	for range 500 {
		list := randomList(random)
		var want []string
		for _, o := range list.Items {
			if slices.ContainsFunc(o.OwnerReferences, func(ref metav1.OwnerReference) bool { return owners[ref.UID] }) {
				want = append(want, o.Name)
			}
		}
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		for format, answer := range map[string][]byte{"Protobuf": protobuf(list), "JSON": text} {
			var got []string
			next, err := eachOwned(answer, owners, func(o *metav1.PartialObjectMetadata) {
				got = append(got, o.Name)
				if i := slices.IndexFunc(list.Items, func(of metav1.PartialObjectMetadata) bool { return of.Name == o.Name }); !reflect.DeepEqual(o.OwnerReferences, list.Items[i].OwnerReferences) {
					t.Errorf("%s: %s has the owners %v", format, o.Name, o.OwnerReferences)
				}
			})
			if err != nil || next != list.Continue || !slices.Equal(got, want) {
				t.Fatalf("%s: got %v, %q, %v, want %v, %q", format, got, next, err, want, list.Continue)
			}
		}
	}
}

// FuzzAnswer gives answers that servers do not give.
func FuzzAnswer(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		f.Add(protobuf(randomList(random)))
	}
	f.Fuzz(func(_ *testing.T, answer []byte) {
		_, _ = eachOwned(answer, map[types.UID]bool{"u1": true}, func(*metav1.PartialObjectMetadata) {})
	})
}

// BenchmarkSearch measures what an object of others costs in a search, beside a list of the client that decodes all of the metadata, and
// beside the requests alone. The time is the CPU time of this process, in which the server is too.
func BenchmarkSearch(b *testing.B) {
	const parts = 20 // of each list
	served, err := pods.NewServer(pageSize)
	if err != nil {
		b.Fatal(err)
	}
	recorded := httptest.NewRecorder()
	request := httptest.NewRequest("GET", "/", nil)
	request.Header.Set("Accept", accepted)
	served.ServeHTTP(recorded, request)
	var list metav1.PartialObjectMetadataList
	if err := eachField(recorded.Body.Bytes()[len(protobufStart):], rawOfUnknown, list.Unmarshal); err != nil {
		b.Fatal(err)
	}
	last := protobuf(&list)
	list.Continue = "more"
	part, n := protobuf(&list), 0
	f, w := newFinder(b, nil, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		if n++; n%parts == 0 {
			_, _ = w.Write(last)
		} else {
			_, _ = w.Write(part)
		}
	}))
	whole, err := metadata.NewForConfig(w.config)
	if err != nil {
		b.Fatal(err)
	}
	search := f.searches()[configMaps]
	var answer bytes.Buffer
	for name, all := range map[string]func() error{
		"search": func() error { return f.list(b.Context(), search) },
		"client": func() error {
			return kube.EachMetadata(b.Context(), whole, configMaps, nil, "", func(*metav1.PartialObjectMetadata) {})
		},
		"requests": func() error {
			for range parts {
				if err := f.page(b.Context(), search, "", "", &answer); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		b.Run("by="+name, func(b *testing.B) {
			b.ReportAllocs()
			before := cpu(b)
			for b.Loop() {
				if err := all(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpu(b)-before)/float64(b.N)/(parts*pageSize), "cpu-ns/object")
		})
	}
}

// cpu returns the CPU time of this process, in ns.
func cpu(b *testing.B) int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
