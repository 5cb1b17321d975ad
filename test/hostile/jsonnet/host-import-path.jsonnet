// class: host
// attacks: a file of the host
// want: Module
{
  sync(parent, children)::
    { v: importstr '/etc/passwd' },
}
