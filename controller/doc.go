// Package controller runs controllers that are described by objects: CompositeControllers and DecoratorControllers.
//
// A [Server] watches the controller objects of a cluster. For each it runs a reconcile.Reconciler, which has its own queue and
// its own state; a failure of one does not affect the others. All Reconcilers share watches and workers, so that a controller
// with nothing to do has no goroutine and handles no events.
//
// # Packages
//
// Each can be read on its own. A package imports only packages below it. From the top down:
//
//   - controller, this package: watches controller objects, loads them, replaces and rolls back versions, writes their status
//   - inspect: serves what a server knows of parents; tree: computes their ownership trees; history: keeps what their last reconciles did
//   - details: records in the namespaces of accounts what the status of their controllers leaves out
//   - status: computes the status of a controller object from the result of loading it
//   - reconcile: reconciles the parents of one controller
//   - guard: whether a new version may run, by what it would do; preview: computes that, without a write; restarts: which changes restart Pods
//   - shadow: compares a candidate for the script of a controller with the script that runs
//   - offline: one sync without a cluster, for the command line
//   - failures: classifies the errors of syncs and sums them up; delays: finds out whether parents wait because hooks are slow
//   - children: plans and does the writes to the children of a parent
//   - remember: which reconciles need not be done, because nothing changed; call: decides which hooks are called for a parent, and whether; binding: what a controller object means
//   - rights: what a controller has to be permitted, and why
//   - related: the caches of related objects; strays: looks for owned objects that caches of children lack
//   - finalizers: removes the finalizers of deleted controllers; static: controller objects that are not in a cluster
//   - revisions: stores revisions of parents in ControllerRevisions; store: stores versions of scripts in ConfigMaps
//   - build: makes the hooks that a controller object declares, from scripts and webhooks
//   - random: the key of the random values of scripts
//   - references: watches the Secrets and ConfigMaps that controller objects refer to
//   - queue: the work queue of a controller, with the reasons of each key; claim: finds, adopts and releases children
//   - spec: reads controller objects of both kinds into one form
//   - hook: scripts and webhooks, with the format of their requests and responses; etags: caches the responses of webhooks that had an ETag
//   - accounts: makes controllers act as their accounts; access: finds out what the account of a controller may read
//   - dispatch: finds the controllers that an event concerns; informer: caches with shared watches
//   - throttle: back-off, and the decision whether a new version is good; recovery: when parents that failed of the same cause are tried again; inputs: who changed what a hook gets; transition: the times of conditions
//   - kube: requests to the API server, except those of informers; spans: the spans of traces
//   - observe: what a server tells about its work; recording: files with reconciles, to replay them; changes: shows what a write changes
//   - rollout and plan: compute what to write, without a client; compared: remembers how children compared with what hooks returned; ownership: the fields that a field manager owns; builtin: fields of built-in kinds that are not returned as they were written; scalar: compares JSON scalars
//   - redact: removes the values of Secrets from texts; scrub: replaces them in whole objects; secretvalues: reads them, and finds them in texts; absent: finds names that a script made of a missing value
//   - overlap: finds controllers that select the same objects; metrics: Prometheus metrics; lease: leader election; idle: gives memory back while nothing is done; work: workers that many queues share
//   - apiserver: how the API server answers, and who waits when it asks to wait
//   - connection: how a server is reached, for errors; reach: where webhooks of controllers with an account are called; bodies: limits the memory of webhook responses; turns: shares memory between parents that have turns; httpanswer: reads the HTTP responses that functions return; jsontree: decodes JSON while it is read; selection: finds the queries that match an object; eventbudget: limits the events about each object; object: types for objects and sets of objects
//   - account: the ServiceAccounts that controllers act as; schemas: the schemas of kinds; kinds: their names, and hints
//   - api/v1alpha1: the API as Go types; api/validation: validates objects without a cluster; api/rules: the rules that no schema has; allowed: says in words which names, quantities and selectors Kubernetes allows; shell: words of commands that are printed
//
// # The life of a controller object
//
// The watches (watch.go) get an event and add the name of the object to one queue. Only a deletion is remembered, with
// the last state of the object, until the deletion is finished (managed.go). A worker takes the name (server.go) and loads the
// object (load.go), in these steps:
//
//   - if the object was deleted, stop what runs, drop the record, and after some time remove the finalizers of the controller
//     from its parents (deletion.go)
//   - find the record of the object (managed.go), which has the state that the server has about it. It belongs to the UID:
//     another object of the same name has another record
//   - read the spec
//   - if it is paused, stop what runs, also if the rest of the spec cannot be read
//   - validate the spec, and discover the resources that it names
//   - read the scripts, from the object, files or ConfigMaps (sources.go). From now on a change of a source queues the object
//   - if the version was given up, do not try it again before it is edited (rollback.go)
//   - make all hooks, with package build, and ask the guard (package guard) whether the version may run
//   - activate the version (activate.go): if only the scripts have changed, the Reconciler gets new hooks in one step; otherwise
//     another Reconciler replaces the one that runs. A record has one pointer to what runs
//   - if the version cannot be built or the guard holds it, the spec and the scripts that run stay active. If nothing runs, or what runs was given up,
//     activate the last good version (lastgood.go, rollback.go)
//   - if this server leads, write the result to the status of the object, as conditions, log it, and record events (status.go)
//
// The queue gives a name to one worker at a time, so most of a record needs no lock. After an error the name is added
// again, after a back-off.
//
// # The forms of a controller object
//
// While it is loaded, a controller object takes these forms, each made of those before:
//
//   - object.Object: the object as it is stored; the caches of the watches have it
//   - spec.Declaration: what its spec says, in one form for both kinds; spec.Read makes it
//   - build.Candidate: the declaration and what it refers to. The loader makes it; Resolved has the resources, from
//     activator.discover, and Parts has the scripts, from Candidate.Read
//   - build.Built: the hooks, and what the status reports about them; build.Builder.Build makes them of the declaration and the Parts
//   - build.Loaded: the candidate with its Built, as the version that runs; activator.activate makes it
//   - binding.Binding: what a Reconciler needs. binding.Bind fills in what follows from the declaration and from Resolved, and
//     activator.bind adds the hooks, the caches and the clients
//   - call.Version: the hooks with their breakers and canary; Loaded is the build.Loaded. reconcile.New makes the first one, of the
//     Binding. If only the scripts change, activator.nextVersion makes the next one, and the Binding stays
//
// # The life of a parent
//
// An informer gets an event. Package dispatch finds the Reconcilers that it concerns, and each adds the keys of the parents to
// its queue, with the reason. A worker takes a key, waits until the caches show what the last reconcile of this parent wrote,
// and reconciles the parent, with one version of the hooks from the beginning to the end:
//
//   - the parent is read from the cache. If nothing that the last reconcile used has changed, or it is paused by its annotation, nothing
//     is done; see package remember. If it does not exist, or is not selected, what is remembered of it is dropped
//   - the finalizer keeper adds our finalizer if there is a finalize hook
//   - package claim lists the children, and adopts and releases
//   - the caller calls the customize hook, selects the related objects, and calls the sync or finalize hook: a script or a
//     webhook. A script that exceeded a limit for this parent repeatedly is not called
//   - if kinds of children roll, the roller calls the hook for each revision of the parent, and stores the next step in
//     ControllerRevisions before any child is written
//   - for a DecoratorController, the status writer writes the labels and annotations of the parent, if they differ
//   - package children plans the writes to children with package plan, and does those of one kind at the same time, also after an error
//   - the status writer writes the status of the parent if it differs, or leaves it to the next reconcile, which sees the children.
//     Then our finalizer is removed, if the hook has finalized
//
// After an error before the plan, nothing is deleted. At the end the Reconciler decides, in retry.go, whether and when the
// parent is reconciled again.
//
// # Several servers
//
// One server leads (package lease). The others have caches, Reconcilers and queues too, but no worker runs and they write
// nothing. health.go decides when a server is ready and healthy, metrics.go has the metrics, and sweep.go deletes stored objects
// to which nothing refers.
//
// Objects in caches are shared and must not be changed; hooks get read-only views of them.
package controller
