package store

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"testing/fstest"

	"metascript/controller/build"
	"metascript/engine"
	"metascript/scripts"
)

// A packedPart is a part as it is stored.
type archivedPart struct {
	Language string            `json:"language"`
	Entry    string            `json:"entry"`
	Source   string            `json:"source"`
	Files    map[string][]byte `json:"files"`
}

// zips are writers to be used again: each takes most of a megabyte, for texts of some kilobytes.
var zips = sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}

// pack writes v as JSON, compressed, in the form that binaryData of a ConfigMap has.
func archiveText(v any) (string, error) {
	var packed bytes.Buffer
	zip := zips.Get().(*gzip.Writer)
	defer zips.Put(zip)
	zip.Reset(&packed)
	err := errors.Join(json.NewEncoder(zip).Encode(v), zip.Close())
	return base64.StdEncoding.EncodeToString(packed.Bytes()), err
}

// unpack reads what pack wrote, or whatever else is there.
func restoreText(text string, v any) error {
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	plain, err := io.ReadAll(io.LimitReader(zip, build.MaxSource+1))
	if err != nil {
		return err
	}
	if len(plain) > build.MaxSource {
		return fmt.Errorf("it is larger than %s", engine.Size(build.MaxSource))
	}
	return json.Unmarshal(plain, v)
}

// archive gives the parts as they are stored.
func archive(p build.Parts) (map[string]archivedPart, error) {
	all := map[string]archivedPart{}
	for name, part := range p {
		files := map[string][]byte{}
		err := fs.WalkDir(part.Files, ".", func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				files[path], err = fs.ReadFile(part.Files, path)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", build.SpecPath(name), err)
		}
		all[name] = archivedPart{part.Language, part.Entry, part.Source, files}
	}
	return all, nil
}

// unpacked gives the parts that were stored so.
func restore(all map[string]archivedPart) build.Parts {
	found := build.Parts{}
	for name, packed := range all {
		files := fstest.MapFS{}
		for path, text := range packed.Files {
			files[path] = &fstest.MapFile{Data: text, Mode: 0o444}
		}
		found[name] = scripts.Assembled{
			Script: engine.Script{Language: packed.Language, Entry: packed.Entry, Files: files}, Source: packed.Source,
		}
	}
	return found
}
