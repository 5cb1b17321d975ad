// A Service for each Pod of a StatefulSet that has the annotations.
local port(pair) =
  local numbers = std.map(std.parseInt, std.split(pair, ':'));
  { name: 'port-%d' % numbers[0], port: numbers[0], targetPort: numbers[1] };

{
  sync(object)::
    local annotations = object.metadata.annotations;
    local label = annotations['service-per-pod-label'];
    local ports = [port(pair) for pair in std.split(annotations['service-per-pod-ports'], ',')];
    {
      attachments: [
        local name = '%s-%d' % [object.metadata.name, ordinal];
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: name, labels: { app: 'service-per-pod' } },
          spec: { selector: { [label]: name }, ports: ports },
        }
        for ordinal in std.range(0, object.spec.replicas - 1)
      ],
    },

  // The StatefulSet is being deleted, or lost its annotations. Delete the Services first.
  finalize(attachments):: {
    attachments: [],
    finalized: std.length(attachments['Service.v1']) == 0,
  },
}
