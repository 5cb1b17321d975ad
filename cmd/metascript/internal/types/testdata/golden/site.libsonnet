// A script can use this file: local kinds = import 'kinds.libsonnet'; kinds.Pod({ metadata: { name: 'a' }, spec: { ... } })

// like returns the names with the same first letter as a name, or all if there are none.
local like(names, name) =
  local first(text) = std.asciiLower(std.substr(text, 0, 1));
  local same = [other for other in names if first(other) == first(name)];
  if std.length(same) > 0 then same else names;

// check returns value. It is an error if an object in value has a field that is not in the shape.
local check(shape, value, path) =
  if !std.isObject(shape) then value
  else if std.isArray(value) then std.mapWithIndex(function(i, item) check(shape, item, '%s[%d]' % [path, i]), value)
  else if !std.isObject(value) then value
  else std.mapWithKey(function(key, field)
    if '*' in shape then check(shape['*'], field, path + '.' + key)
    else if key in shape then check(shape[key], field, path + '.' + key)
    else error '%s: unknown field "%s"; did you mean %s?' % [path, key, std.join(' or ', like(std.objectFields(shape), key))], value);

// The fields of objects.
local shapes = {
  ManagedFieldsEntry: { 'apiVersion': null, 'fieldsType': null, 'fieldsV1': null, 'manager': null, 'operation': null, 'subresource': null, 'time': null },
  ObjectMeta: { 'annotations': null, 'creationTimestamp': null, 'deletionGracePeriodSeconds': null, 'deletionTimestamp': null, 'finalizers': null, 'generateName': null, 'generation': null, 'labels': null, 'managedFields': shapes.ManagedFieldsEntry, 'name': null, 'namespace': null, 'ownerReferences': shapes.OwnerReference, 'resourceVersion': null, 'selfLink': null, 'uid': null },
  OwnerReference: { 'apiVersion': null, 'blockOwnerDeletion': null, 'controller': null, 'kind': null, 'name': null, 'uid': null },
};

{
  // ConfigMap in v1, from the other fields.
  ConfigMap(fields):: check({ 'apiVersion': null, 'binaryData': null, 'data': null, 'immutable': null, 'kind': null, 'metadata': shapes.ObjectMeta }, { apiVersion: 'v1', kind: 'ConfigMap' } + fields, 'ConfigMap'),

  // Backup in example.com/v1, from the other fields.
  Backup(fields):: check({ 'apiVersion': null, 'keep': null, 'kind': null, 'metadata': shapes.ObjectMeta, 'schedule': null, 'status': { 'last': null } }, { apiVersion: 'example.com/v1', kind: 'Backup' } + fields, 'Backup'),

  // The status of Site in example.com/v1.
  SiteStatus(fields):: check({ 'conditions': { 'lastTransitionTime': null, 'message': null, 'reason': null, 'status': null, 'type': null }, 'observedGeneration': null, 'phase': null }, fields, 'status'),
}
