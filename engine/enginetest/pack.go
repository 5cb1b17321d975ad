package enginetest

import (
	"maps"

	"metascript/engine/packed"
)

// Pack returns a packed object with the content of a JSON-shaped map. It panics if that is impossible.
func Pack(m map[string]any) packed.Map {
	object, err := packed.Pack(m)
	if err != nil {
		panic(err)
	}
	return object
}

// packFields is a decoder for arguments whose fields are packed.
func packFields(text string) (map[string]any, error) {
	object, err := packed.Parse([]byte(text))
	if err != nil {
		return nil, err
	}
	return maps.Collect(object.All()), nil
}

// recordFields is a decoder for arguments whose fields are packed, and whose reads are recorded.
func recordFields(text string) (map[string]any, error) {
	object, err := packed.Parse([]byte(text))
	if err != nil {
		return nil, err
	}
	return maps.Collect((&packed.Recorder{}).Record(object).Map().All()), nil
}
