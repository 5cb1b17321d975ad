// One Pod, which is created again when it is deleted.
{
  sync(parent, children)::
    local name = parent.metadata.name + '-immortalpod';
    {
      status: { currentPod: if name in children['Pod.v1'] then name else '' },
      children: [{
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: name },
        spec: {
          restartPolicy: 'OnFailure',
          containers: [{ name: 'acontainer', image: parent.spec.image }],
        },
      }],
    },
}
