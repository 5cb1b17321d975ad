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

// An archivedPart is the stored form of a part of build.Parts.
type archivedPart struct {
	Language string            `json:"language"`
	Entry    string            `json:"entry"`
	Source   string            `json:"source"`
	Files    map[string][]byte `json:"files"`
}

// gzipWriters are writers for reuse: each needs almost a megabyte, for texts of a few kilobytes.
var gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}

// archiveText returns v as JSON, compressed and in base64, which is the format of binaryData in a ConfigMap.
func archiveText(v any) (string, error) {
	var compressed bytes.Buffer
	zip := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(zip)
	zip.Reset(&compressed)
	err := errors.Join(json.NewEncoder(zip).Encode(v), zip.Close())
	return base64.StdEncoding.EncodeToString(compressed.Bytes()), err
}

// restoreText decodes a result of archiveText into v. Its size is limited, since a user may have changed it.
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

// archive returns the stored form of the parts.
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

// restore returns the parts of which all is the stored form.
func restore(all map[string]archivedPart) build.Parts {
	parts := build.Parts{}
	for name, archived := range all {
		files := fstest.MapFS{}
		for path, text := range archived.Files {
			files[path] = &fstest.MapFile{Data: text, Mode: 0o444}
		}
		parts[name] = scripts.Assembled{
			Script: engine.Script{Language: archived.Language, Entry: archived.Entry, Files: files}, Source: archived.Source,
		}
	}
	return parts
}
