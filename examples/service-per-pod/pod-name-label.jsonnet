// A label with the Pod's name, under the key that an annotation gives, so that a Service can select this one Pod.
{
  sync(object):: {
    labels: { [object.metadata.annotations['pod-name-label']]: object.metadata.name },
  },
}
