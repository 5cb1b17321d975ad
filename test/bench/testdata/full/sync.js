// One desired Pod for each that there is, of the parent's template.

function sync({parent, children}) {
  const {template, image} = parent.spec
  return {children: Object.keys(children['Pod.v1']).map(name => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {name, labels: {...template.metadata.labels, pod: name}},
    spec: {
      restartPolicy: 'Always',
      containers: template.spec.containers.map(container => ({
        name: container.name,
        image,
        env: [...container.env, {name: 'POD', value: name}],
        ports: container.ports,
      })),
    },
  }))}
}
