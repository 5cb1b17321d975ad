package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	ociremote "github.com/sigstore/cosign/v3/pkg/oci/remote"
	cosigntypes "github.com/sigstore/cosign/v3/pkg/types"
)

// pushImage pushes the image to a registry, and then its signature, its provenance and its SBOMs, which refer to its digest. The
// credentials are those of the configuration of docker, as "crane auth login" and "docker login" write it.
func (o options) pushImage(ctx context.Context, key *key) error {
	if key == nil {
		return errors.New("COSIGN_PRIVATE_KEY is not set: set it to a key of cosign, because the image is pushed with signatures")
	}
	to, err := name.ParseReference(o.to)
	if err != nil {
		return fmt.Errorf("--to: %w: want a name and a tag, such as TO=registry.example.com/metascript:v1.0.0 with make", err)
	}
	image, digest, err := index(filepath.Join(o.image, "oci"))
	if err != nil {
		return err
	}
	login := remote.WithAuthFromKeychain(authn.DefaultKeychain)
	if err := remote.WriteIndex(to, image, login, remote.WithContext(ctx)); err != nil {
		return fmt.Errorf("push %s: %w", to, err)
	}
	attach := func(digest v1.Hash, predicateType string, predicate func([]subject) statement) error {
		subjects := []subject{{Name: to.Context().Name(), Digest: map[string]string{digest.Algorithm: digest.Hex}}}
		text, err := json.Marshal(predicate(subjects))
		if err != nil {
			return err
		}
		bundle, err := key.signStatement(ctx, text)
		if err != nil {
			return err
		}
		if err := ociremote.WriteAttestationNewBundleFormat(to.Context().Digest(digest.String()), bundle, predicateType, ociremote.WithRemoteOptions(login, remote.WithContext(ctx))); err != nil {
			return fmt.Errorf("attach %s to %s: %w", predicateType, digest, err)
		}
		return nil
	}

	// Users run a platform of the image by its own digest too, so each has its own signature.
	digests := []v1.Hash{digest}
	manifest, err := image.IndexManifest()
	if err != nil {
		return err
	}
	for _, m := range manifest.Manifests {
		digests = append(digests, m.Digest)
	}
	sboms, err := readSBOMs(filepath.Join(o.image, "sbom"))
	if err != nil {
		return err
	}
	for _, d := range digests {
		sbom := sboms[d.String()]
		if sbom == nil {
			return fmt.Errorf("%s has no SBOM of %s: run make image", o.image, d)
		}
		for _, about := range []struct {
			predicateType string
			predicate     func([]subject) statement
		}{
			{cosigntypes.CosignSignPredicateType, func(s []subject) statement {
				return statementOf(s, cosigntypes.CosignSignPredicateType, map[string]any{})
			}},
			{provenanceType, func(s []subject) statement { return o.provenance(s, "make image") }},
			{spdxType, func(s []subject) statement { return statementOf(s, spdxType, sbom) }},
		} {
			if err := attach(d, about.predicateType, about.predicate); err != nil {
				return err
			}
		}
	}
	fmt.Println(to.Context().Digest(digest.String()))
	return nil
}

// spdxType is the type of an SBOM in SPDX.
const spdxType = "https://spdx.dev/Document"

// readSBOMs returns the SBOMs in a directory by the digest of their image, which is in the name that ko gives to the document.
func readSBOMs(dir string) (map[string]json.RawMessage, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.spdx.json"))
	if err != nil {
		return nil, err
	}
	sboms := map[string]json.RawMessage{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var document struct{ Name string }
		if err := json.Unmarshal(text, &document); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		sboms[strings.TrimPrefix(document.Name, "sbom-")] = text
	}
	return sboms, nil
}
