// Command image builds the container image of metascript, for each platform: it needs neither a container engine nor a registry. ko
// compiles the program and makes the layers. The base image is made here, from nothing but this file.
//
// It is a separate Go module, so that the main module does not depend on ko.
package main

import (
	"archive/tar"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/ko/pkg/build"
)

// platforms are those of the image, as in Go.
var platforms = []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}

// user runs the program. The manifests have the same user.
const user = "65532:65532"

// options are the flags.
type options struct {
	source, out                      string
	version, revision, date, ldflags string
}

func main() {
	var o options
	flag.StringVar(&o.source, "source", "../..", "the directory of the repository")
	flag.StringVar(&o.out, "out", "../../build/image", "the directory that the image is written to; what it contains is removed")
	flag.StringVar(&o.version, "version", "", "the version, which is also the tag")
	flag.StringVar(&o.revision, "revision", "", "the commit")
	flag.StringVar(&o.date, "date", "", "the date of the commit, in RFC 3339")
	flag.StringVar(&o.ldflags, "ldflags", "", "flags of the linker")
	flag.Parse()
	if err := o.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run writes the image as an OCI layout with all platforms, as an archive for each platform, and the SBOMs.
func (o options) run(ctx context.Context) error {
	created, err := time.Parse(time.RFC3339, o.date)
	if err != nil {
		return fmt.Errorf("--date: %w", err)
	}
	tag, err := name.NewTag("metascript:" + o.version)
	if err != nil {
		return fmt.Errorf("--version: %w", err)
	}
	latest, err := name.NewTag("metascript:latest") // the image of the manifests
	if err != nil {
		return err
	}
	if err := os.RemoveAll(o.out); err != nil {
		return err
	}
	index, err := o.build(ctx, v1.Time{Time: created.UTC()})
	if err != nil {
		return err
	}
	to, err := layout.Write(filepath.Join(o.out, "oci"), empty.Index)
	if err != nil {
		return err
	}
	if err := to.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": o.version})); err != nil {
		return err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, m := range manifest.Manifests {
		image, err := index.Image(m.Digest)
		if err != nil {
			return err
		}
		archive := filepath.Join(o.out, fmt.Sprintf("metascript-%s-%s-%s.tar", o.version, m.Platform.OS, m.Platform.Architecture))
		if err := tarball.MultiWriteToFile(archive, map[name.Tag]v1.Image{tag: image, latest: image}); err != nil {
			return fmt.Errorf("write %s: %w", archive, err)
		}
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Println(digest)
	return os.WriteFile(filepath.Join(o.out, "digest"), []byte(digest.String()+"\n"), 0o644)
}

// build builds the image for all platforms, with SBOMs.
func (o options) build(ctx context.Context, created v1.Time) (v1.ImageIndex, error) {
	based, err := base(created)
	if err != nil {
		return nil, fmt.Errorf("the base image: %w", err)
	}
	at, err := name.ParseReference("localhost/metascript/base")
	if err != nil {
		return nil, err
	}
	names := make([]string, len(platforms))
	for i, p := range platforms {
		names[i] = p.String()
	}
	settings := []build.Option{
		build.WithBaseImages(func(context.Context, string) (name.Reference, build.Result, error) { return at, based, nil }),
		build.WithPlatforms(names...),
		build.WithCreationTime(created),
		build.WithKoDataCreationTime(created),
		build.WithUser(user),
		build.WithTrimpath(true),
		build.WithJobs(1),
		// The commit is in o.ldflags. What git says of the checkout besides would make two builds of a commit different.
		build.WithDefaultEnv([]string{"CGO_ENABLED=0", "GOFLAGS=-buildvcs=false"}),
		build.WithDefaultLdflags([]string{o.ldflags}),
		build.WithSPDX(o.version),
		build.WithSBOMDir(filepath.Join(o.out, "sbom")),
	}
	for key, value := range map[string]string{
		"title":       "metascript",
		"description": "Run Kubernetes controllers whose logic is a script in the controller object",
		"licenses":    "Apache-2.0",
		"version":     o.version,
		"revision":    o.revision,
		"created":     o.date,
	} {
		key = "org.opencontainers.image." + key
		settings = append(settings, build.WithLabel(key, value), build.WithAnnotation(key, value))
	}
	builder, err := build.NewGo(ctx, o.source, settings...)
	if err != nil {
		return nil, err
	}
	program, err := builder.QualifyImport("./cmd/metascript")
	if err != nil {
		return nil, err
	}
	result, err := builder.Build(ctx, program)
	if err != nil {
		return nil, err
	}
	index, ok := result.(v1.ImageIndex)
	if !ok {
		return nil, fmt.Errorf("ko has built a %T, want an index", result)
	}
	return index, nil
}

// base returns the base image, the same for all platforms. It has what the program needs of a root directory besides itself.
func base(created v1.Time) (v1.ImageIndex, error) {
	files, err := layer(created.Time)
	if err != nil {
		return nil, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms {
		image, err := mutate.ConfigFile(mutate.MediaType(empty.Image, types.OCIManifestSchema1), &v1.ConfigFile{
			OS: p.OS, Architecture: p.Architecture, Created: created,
			RootFS: v1.RootFS{Type: "layers"},
			Config: v1.Config{Env: []string{"PATH=/usr/bin"}, WorkingDir: "/"},
		})
		if err != nil {
			return nil, err
		}
		image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
		image, err = mutate.Append(image, mutate.Addendum{Layer: files, MediaType: types.OCILayer, History: v1.History{Created: created, CreatedBy: "manifests/image"}})
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &p}})
	}
	return index, nil
}

// layer returns the layer of the base image. ko puts the program at /ko-app/metascript; the manifests and Metacontroller's run it at
// /usr/bin/metacontroller.
func layer(modified time.Time) (v1.Layer, error) {
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, h := range []struct {
		tar.Header
		text string
	}{
		{tar.Header{Typeflag: tar.TypeDir, Name: "etc/", Mode: 0o755}, ""},
		{tar.Header{Typeflag: tar.TypeReg, Name: "etc/passwd", Mode: 0o644}, "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n"},
		{tar.Header{Typeflag: tar.TypeReg, Name: "etc/group", Mode: 0o644}, "root:x:0:\nnonroot:x:65532:\n"},
		{tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}, ""},
		{tar.Header{Typeflag: tar.TypeDir, Name: "usr/", Mode: 0o755}, ""},
		{tar.Header{Typeflag: tar.TypeDir, Name: "usr/bin/", Mode: 0o755}, ""},
		{tar.Header{Typeflag: tar.TypeSymlink, Name: "usr/bin/metacontroller", Linkname: "/ko-app/metascript", Mode: 0o777}, ""},
		{tar.Header{Typeflag: tar.TypeSymlink, Name: "usr/bin/metascript", Linkname: "/ko-app/metascript", Mode: 0o777}, ""},
	} {
		h.Size, h.ModTime = int64(len(h.text)), modified
		if err := w.WriteHeader(&h.Header); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(w, h.text); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buffer.Bytes())), nil }
	return tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer))
}
