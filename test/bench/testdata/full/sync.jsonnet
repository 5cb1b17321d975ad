// One desired Pod for each that there is, of the parent's template.
{
  sync(parent, children)::
    local template = parent.spec.template;
    { children: [{
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: name, labels: template.metadata.labels { pod: name } },
      spec: {
        restartPolicy: 'Always',
        containers: [{
          name: container.name,
          image: parent.spec.image,
          env: container.env + [{ name: 'POD', value: name }],
          ports: container.ports,
        } for container in template.spec.containers],
      },
    } for name in std.objectFields(children['Pod.v1'])] },
}
