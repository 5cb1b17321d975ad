package strays

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// accepted are the forms of an answer, the preferred one first: a server that cannot leave out what is not metadata, or does not have the
// format of Protobuf, answers in another one.
const accepted = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1," +
	"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

// protobufStart is the text before a list in the format of Protobuf.
var protobufStart = []byte("k8s\x00")

// The numbers of the fields that are read, in the generated.proto of apimachinery.
const (
	rawOfUnknown        protowire.Number = 2
	metadataOfList      protowire.Number = 1
	itemsOfList         protowire.Number = 2
	continueOfListMeta  protowire.Number = 3
	metadataOfItem      protowire.Number = 1
	ownersOfObjectMeta  protowire.Number = 13
	uidOfOwnerReference protowire.Number = 4
)

// eachOwned calls visit with the metadata of the objects in a list that name one of the owners. It returns the token for the next part
// of the list; "" if there is none.
func eachOwned(answer []byte, owners map[types.UID]bool, visit func(*metav1.PartialObjectMetadata)) (next string, err error) {
	encoded, isProtobuf := bytes.CutPrefix(answer, protobufStart)
	if !isProtobuf {
		return eachOfJSON(answer, owners, visit)
	}
	found := false
	err = eachField(encoded, rawOfUnknown, func(list []byte) error {
		found = true
		next, err = eachOfProtobuf(list, owners, visit)
		return err
	})
	if err == nil && !found {
		err = errors.New("it has no content")
	}
	if err != nil {
		return "", fmt.Errorf("decode a list of metadata: %w", err)
	}
	return next, nil
}

// eachOfJSON is eachOwned for JSON.
func eachOfJSON(answer []byte, owners map[types.UID]bool, visit func(*metav1.PartialObjectMetadata)) (next string, err error) {
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal(answer, &list); err != nil {
		return "", fmt.Errorf("decode a list of metadata: %w", err)
	}
	for i := range list.Items {
		for _, owner := range list.Items[i].OwnerReferences {
			if owners[owner.UID] {
				visit(&list.Items[i])
				break
			}
		}
	}
	return list.Continue, nil
}

// eachOfProtobuf is eachOwned for a list in the format of Protobuf. Only the objects that name an owner are decoded as a whole, since
// this takes a hundred times as long as looking for the owners.
func eachOfProtobuf(list []byte, owners map[types.UID]bool, visit func(*metav1.PartialObjectMetadata)) (next string, err error) {
	err = eachField(list, metadataOfList, func(meta []byte) error {
		return eachField(meta, continueOfListMeta, func(value []byte) error {
			next = string(value)
			return nil
		})
	})
	if err != nil {
		return "", err
	}
	return next, eachField(list, itemsOfList, func(item []byte) error {
		owned, err := isOwned(item, owners)
		if err != nil || !owned {
			return err
		}
		var o metav1.PartialObjectMetadata
		if err := o.Unmarshal(item); err != nil {
			return err
		}
		visit(&o)
		return nil
	})
}

// isOwned reports whether an object names one of the owners.
func isOwned(item []byte, owners map[types.UID]bool) (owned bool, err error) {
	return owned, eachField(item, metadataOfItem, func(meta []byte) error {
		return eachField(meta, ownersOfObjectMeta, func(owner []byte) error {
			return eachField(owner, uidOfOwnerReference, func(uid []byte) error {
				owned = owned || owners[types.UID(uid)]
				return nil
			})
		})
	})
}

// eachField calls visit with the values of a field of a message.
func eachField(message []byte, field protowire.Number, visit func(value []byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return protowire.ParseError(n)
		}
		if number == field && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message)
			if err := visit(value); err != nil {
				return err
			}
		}
		message = message[n:]
	}
	return nil
}
