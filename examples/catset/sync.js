// A StatefulSet: numbered Pods that are created and deleted in order, each with its own volumes.

function sync({parent, children}) {
  return arrange(parent, children, parent.spec.replicas);
}

// A CatSet that is being deleted scales to zero first, in order. Then it is deleted, with its volumes.
function finalize({parent, children}) {
  const answer = arrange(parent, children, 0);
  return {...answer, finalized: answer.status.replicas === 0};
}

function arrange(catset, children, replicas) {
  const pods = byOrdinal(children["Pod.v1"], catset.metadata.name);
  let ready = 0;
  while (ready < replicas && isReady(pods.get(ready))) ready++;
  return {
    status: {replicas: pods.size, readyReplicas: ready},
    children: [
      // A rolling update updates the Pods in the order of this list, so the last Pod is updated first.
      ...wantedPods([...pods.keys()], replicas, ready).map(ordinal => newPod(catset, ordinal)),
      ...wantedClaims(catset, children["PersistentVolumeClaim.v1"], replicas),
    ],
  };
}

// Existing Pods stay, and one Pod at a time is added or removed. The next is added when all before it are ready, and the last
// is removed when all Pods that stay are ready.
function wantedPods(ordinals, replicas, ready) {
  const descending = ordinals.sort((a, b) => b - a);
  if (ready < replicas && !descending.includes(ready)) {
    return [...descending, ready].sort((a, b) => b - a);
  }
  if (ready === replicas && descending[0] >= replicas) {
    return descending.slice(1);
  }
  return descending;
}

function newPod(catset, ordinal) {
  const {template, serviceName, volumeClaimTemplates = []} = catset.spec;
  const name = `${catset.metadata.name}-${ordinal}`;
  const spec = {...template.spec, hostname: name, subdomain: serviceName};
  if (volumeClaimTemplates.length > 0) {
    spec.volumes = [...(spec.volumes ?? []), ...volumeClaimTemplates.map(({metadata}) => ({
      name: metadata.name,
      persistentVolumeClaim: {claimName: `${metadata.name}-${name}`},
    }))];
  }
  return {apiVersion: "v1", kind: "Pod", metadata: {...template.metadata, name}, spec};
}

// A claim for each desired Pod. The claims of deleted Pods stay, so that a Pod that is created again has its data.
function wantedClaims(catset, observed, replicas) {
  return (catset.spec.volumeClaimTemplates ?? []).flatMap(template => {
    const base = `${template.metadata.name}-${catset.metadata.name}`;
    const ordinals = new Set(byOrdinal(observed, base).keys());
    for (let i = 0; i < replicas; i++) ordinals.add(i);
    return [...ordinals].sort((a, b) => a - b).map(ordinal => newClaim(catset, template, `${base}-${ordinal}`));
  });
}

function newClaim(catset, {metadata, spec}, name) {
  const labels = {...metadata.labels, ...catset.spec.selector.matchLabels};
  return {apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: {...metadata, name, labels}, spec};
}

// The objects with names <base>-<number>, by number.
function byOrdinal(objects, base) {
  const found = new Map();
  for (const object of Object.values(objects)) {
    const [, stem, digits] = object.metadata.name.match(/^(.*)-(\d+)$/) ?? [];
    if (stem === base) found.set(Number(digits), object);
  }
  return found;
}

function isReady(pod) {
  const conditions = pod?.status?.conditions ?? [];
  return !pod?.metadata.deletionTimestamp && conditions.some(({type, status}) => type === "Ready" && status === "True");
}
