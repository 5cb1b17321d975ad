// Command publish writes what a release has besides its archives and its image: the manifest for krew, the provenance, and signatures.
// "publish files" does so for the archives in build/dist. "publish image" pushes the image to a registry, with its signature, its SBOMs
// and its provenance. The signatures are Sigstore bundles, which cosign verifies with the public key.
//
// The key is one that "cosign generate-key-pair" has made: the variable COSIGN_PRIVATE_KEY has the text of the file cosign.key, and
// COSIGN_PASSWORD its password. No service is needed: there is no certificate, and no entry in a transparency log.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// options are the flags.
type options struct {
	dist, image, krew                  string
	version, revision, source, builder string
	downloads, to                      string
}

func main() {
	var o options
	flag.StringVar(&o.dist, "dist", "build/dist", "the directory with the archives and checksums.txt")
	flag.StringVar(&o.image, "image", "build/image", "the directory with the image")
	flag.StringVar(&o.krew, "krew", ".krew.yaml", "the template of the manifest for krew")
	flag.StringVar(&o.version, "version", "", "the version")
	flag.StringVar(&o.revision, "revision", "", "the commit")
	flag.StringVar(&o.source, "source", "", "the address of the repository")
	flag.StringVar(&o.builder, "builder", "", "a URI of what builds the release; for provenance")
	flag.StringVar(&o.downloads, "downloads", "", "the address that users download the archives from; for krew")
	flag.StringVar(&o.to, "to", "", "the repository and tag that the image is pushed to")
	flag.Parse()
	if err := o.run(context.Background(), flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func (o options) run(ctx context.Context, args []string) error {
	if len(args) != 1 || args[0] != "files" && args[0] != "image" {
		return errors.New("want an argument after the flags: files or image")
	}
	key, err := loadKey(os.Getenv("COSIGN_PRIVATE_KEY"), os.Getenv("COSIGN_PASSWORD"))
	if err != nil {
		return fmt.Errorf("COSIGN_PRIVATE_KEY: %w", err)
	}
	if key != nil && strings.HasSuffix(o.version, "-dirty") {
		return fmt.Errorf("version %s has changes that are not in the commit: commit them before you sign a release", o.version)
	}
	if args[0] == "image" {
		return o.pushImage(ctx, key)
	}
	return o.writeFiles(ctx, key)
}

// writeFiles writes the manifest for krew and the provenance beside the archives and, with a key, signatures and the public key.
func (o options) writeFiles(ctx context.Context, key *key) error {
	sums, err := os.ReadFile(filepath.Join(o.dist, checksums))
	if err != nil {
		return err
	}
	files, err := parseChecksums(string(sums))
	if err != nil {
		return err
	}
	manifest, err := krewManifest(o, files)
	if err != nil {
		return err
	}
	var subjects []subject
	for _, f := range files {
		subjects = append(subjects, subject{Name: f.name, Digest: map[string]string{"sha256": f.sha256}})
	}
	provenance, err := json.Marshal(o.provenance(subjects, "make release"))
	if err != nil {
		return err
	}
	written := map[string][]byte{"metascript.yaml": manifest, "provenance.json": provenance}
	if key != nil {
		if written["cosign.pub"], err = key.public(); err != nil {
			return err
		}
		if written[checksums+".sigstore.json"], err = key.signFile(ctx, sums); err != nil {
			return err
		}
		if written["provenance.sigstore.json"], err = key.signStatement(ctx, provenance); err != nil {
			return err
		}
	}
	for name, text := range written {
		if err := os.WriteFile(filepath.Join(o.dist, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// checksums is the file of GoReleaser with the digests of the archives and SBOMs.
const checksums = "checksums.txt"

// file is a line of checksums.txt.
type file struct{ name, sha256 string }

func parseChecksums(text string) ([]file, error) {
	var files []file
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 2 || len(fields[0]) != 64 {
			return nil, fmt.Errorf("%s: want a SHA-256 digest and a name in each line, not %q", checksums, line)
		}
		files = append(files, file{name: fields[1], sha256: fields[0]})
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s is empty: run make release", checksums)
	}
	return files, nil
}

// index returns the image of all platforms in an OCI layout.
func index(dir string) (v1.ImageIndex, v1.Hash, error) {
	all, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, v1.Hash{}, fmt.Errorf("%w: run make image", err)
	}
	manifest, err := all.IndexManifest()
	if err != nil {
		return nil, v1.Hash{}, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, v1.Hash{}, fmt.Errorf("%s has %d images, want one for all platforms", dir, len(manifest.Manifests))
	}
	digest := manifest.Manifests[0].Digest
	found, err := all.ImageIndex(digest)
	return found, digest, err
}

// A subject is what a statement is about: see https://in-toto.io/Statement/v1.
type subject struct {
	Name   string            `json:"name,omitempty"`
	Digest map[string]string `json:"digest"`
}

// A statement says something about files or images; predicate has the form that predicateType names.
type statement struct {
	Type          string          `json:"_type"`
	Subject       []subject       `json:"subject"`
	PredicateType string          `json:"predicateType"`
	Predicate     json.RawMessage `json:"predicate"`
}

// statementOf returns a statement. predicate must be possible in JSON.
func statementOf(subjects []subject, predicateType string, predicate any) statement {
	text, err := json.Marshal(predicate)
	if err != nil {
		panic(err)
	}
	return statement{Type: "https://in-toto.io/Statement/v1", Subject: subjects, PredicateType: predicateType, Predicate: text}
}

// provenanceType is the type of SLSA provenance, version 1.
const provenanceType = "https://slsa.dev/provenance/v1"

// provenance returns the statement that subjects were built from a commit with a command. It has no times, so that it is the same for
// two builds of a commit.
func (o options) provenance(subjects []subject, command string) statement {
	type object = map[string]any
	return statementOf(subjects, provenanceType, object{
		"buildDefinition": object{
			"buildType":          "urn:metascript:make:v1",
			"externalParameters": object{"command": command, "version": o.version, "source": o.source},
			"internalParameters": object{"go": runtime.Version()},
			"resolvedDependencies": []object{{
				"uri":    "git+" + o.source + "@" + o.version,
				"digest": object{"gitCommit": o.revision},
			}},
		},
		"runDetails": object{"builder": object{"id": o.builder}},
	})
}
