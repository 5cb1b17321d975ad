// class: host
// attacks: a file of the host's
// want: Module
{
  sync(parent, children)::
    { v: importstr '/etc/passwd' },
}
