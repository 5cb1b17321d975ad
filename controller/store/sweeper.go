package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/kube"
	"metascript/controller/plan"
	"metascript/controller/rollout"
	"metascript/controller/selection"
	"metascript/controller/spec"
)

// SweepPeriod is the period of calls of Sweep. A ConfigMap that was stored less than one period ago is not deleted, since another
// server may be creating the object that refers to it.
const SweepPeriod = 30 * time.Second

// A Sweeper deletes the stored scripts and versions to which nothing refers.
type Sweeper struct {
	Namespace string                    // of the ConfigMaps
	Watched   selection.Namespaces      // of the ControllerRevisions that refer to them
	Client    dynamic.Interface         // lists the controller objects
	Metadata  metadata.Interface        // lists ConfigMaps and ControllerRevisions, without their content
	Writer    plan.Writer               // deletes
	InUse     func(digest func(string)) // calls digest with the digest of each script or version that this server uses or will use
}

// Sweep deletes the ConfigMaps that are not used now. The error is that of a request to the API server.
func (s *Sweeper) Sweep(ctx context.Context) error {
	stored, err := s.stored(ctx)
	if err != nil || len(stored) == 0 {
		return err
	}
	used, err := s.used(ctx)
	if err != nil {
		return err
	}
	unused := slices.DeleteFunc(stored, func(o metav1.PartialObjectMetadata) bool {
		return used[NamePrefix+digestIn(o.Name)] || time.Since(storedAt(&o)) < SweepPeriod
	})
	if len(unused) == 0 {
		return nil
	}
	if err := s.addLastGood(ctx, used); err != nil {
		return err
	}
	for i := range unused {
		if used[NamePrefix+digestIn(unused[i].Name)] {
			continue
		}
		if err := s.remove(ctx, &unused[i]); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes a ConfigMap, unless it has changed since it was listed.
func (s *Sweeper) remove(ctx context.Context, listed *metav1.PartialObjectMetadata) error {
	o := (&Store{Namespace: s.Namespace}).configMap("")
	o.SetName(listed.Name)
	o.SetUID(listed.UID)
	o.SetResourceVersion(listed.ResourceVersion)
	_, err := s.Writer.Do(ctx, plan.Op{Verb: plan.Delete, Object: o, Why: "nothing refers to the script"})
	if err != nil && !kube.Outdated(err) {
		return err
	}
	return nil
}

// stored lists the ConfigMaps of scripts and of last known good versions, without their content: there may be one for each
// controller.
func (s *Sweeper) stored(ctx context.Context) ([]metav1.PartialObjectMetadata, error) {
	var all []metav1.PartialObjectMetadata
	for _, label := range []string{ScriptLabel, LastGoodLabel} {
		found, err := s.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(s.Namespace).List(ctx, metav1.ListOptions{LabelSelector: label})
		if err != nil {
			return nil, err
		}
		all = append(all, found.Items...)
	}
	return all, nil
}

// storedAt returns when a ConfigMap was last stored.
func storedAt(o *metav1.PartialObjectMetadata) time.Time {
	if at, err := time.Parse(time.RFC3339, o.Annotations[scriptTime]); err == nil {
		return at
	}
	return o.CreationTimestamp.Time
}

// used returns the names of the ConfigMaps to which ControllerRevisions refer, and of those that this server uses or will use.
func (s *Sweeper) used(ctx context.Context) (map[string]bool, error) {
	used := map[string]bool{}
	err := kube.EachMetadata(ctx, s.Metadata, v1alpha1.ControllerRevisions, s.Watched, "", func(revision *metav1.PartialObjectMetadata) {
		used[NamePrefix+revision.Annotations[rollout.ScriptAnnotation]] = true
	})
	s.InUse(func(digest string) { used[NamePrefix+digest] = true })
	return used, err
}

// addLastGood adds the names of the versions that the status of controller objects names. It lists all controller objects, also
// those of other servers.
func (s *Sweeper) addLastGood(ctx context.Context, used map[string]bool) error {
	for kind, resource := range spec.Resources {
		all, err := s.Client.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list %ss: %w", kind, err)
		}
		for _, o := range all.Items {
			name, _, _ := unstructured.NestedString(o.Object, "status", "script", "lastGood")
			used[name] = true
		}
	}
	return nil
}
