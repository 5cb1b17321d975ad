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

// An archivedPart is a part as it is stored.
type archivedPart struct {
	Language string            `json:"language"`
	Entry    string            `json:"entry"`
	Source   string            `json:"source"`
	Files    map[string][]byte `json:"files"`
}

// zips are writers that are used again: each takes most of a megabyte, for texts of some kilobytes.
var zips = sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}

// archiveText writes v as compressed JSON, in base64 as binaryData of a ConfigMap is.
func archiveText(v any) (string, error) {
	var compressed bytes.Buffer
	zip := zips.Get().(*gzip.Writer)
	defer zips.Put(zip)
	zip.Reset(&compressed)
	err := errors.Join(json.NewEncoder(zip).Encode(v), zip.Close())
	return base64.StdEncoding.EncodeToString(compressed.Bytes()), err
}

// restoreText reads what archiveText wrote. Since somebody may have changed it, its size is limited.
func restoreText(text string, v any) error {
	compressed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	zip, err := gzip.NewReader(bytes.NewReader(compressed))
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

// archive returns the parts as they are stored.
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

// restore returns the parts that archive was given.
func restore(all map[string]archivedPart) build.Parts {
	found := build.Parts{}
	for name, archived := range all {
		files := fstest.MapFS{}
		for path, text := range archived.Files {
			files[path] = &fstest.MapFile{Data: text, Mode: 0o444}
		}
		found[name] = scripts.Assembled{
			Script: engine.Script{Language: archived.Language, Entry: archived.Entry, Files: files}, Source: archived.Source,
		}
	}
	return found
}
